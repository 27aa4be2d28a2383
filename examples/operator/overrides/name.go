// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"crypto/sha256"
	"encoding/hex"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// DefaultSecret is where Cozystack's platform chart writes the table.
var DefaultSecret = types.NamespacedName{Namespace: "cozy-system", Name: "cozystack-values"}

// Name is what an operator goes by: its Lease, the owner of the fields that it writes, and who its
// Events are from. Replicas have one name, and operators with another Secret or other releases
// another, so that one does not wait for the other's Lease. It is image-overrides for the default
// Secret and all releases, and otherwise that with eight hex digits, a valid DNS label in any case.
func Name(secret types.NamespacedName, selector labels.Selector) string {
	const name = "image-overrides"
	if secret == DefaultSecret && selector.Empty() {
		return name
	}
	sum := sha256.Sum256([]byte(secret.String() + "\n" + selector.String()))
	return name + "-" + hex.EncodeToString(sum[:4])
}
