// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

// maxNote is how long the note of an Event may be.
const maxNote = 1024

// tell writes an Event, unless there is no recorder.
func tell(recorder events.EventRecorder, about runtime.Object, kind, reason, action, note string) {
	if recorder == nil {
		return
	}
	if len(note) > maxNote {
		const more = "…"
		note = strings.ToValidUTF8(note[:maxNote-len(more)], "") + more
	}
	recorder.Eventf(about, nil, kind, reason, action, "%s", note)
}
