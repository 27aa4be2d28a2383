// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/cozystack/image-overrides/examples/operator/overrides"
	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/reference"
)

// parse reads flags as main does.
func parse(t *testing.T, args ...string) (*checking, error) {
	t.Helper()
	flags := flag.NewFlagSet("operator", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	c := new(checking)
	c.flags(flags)
	return c, flags.Parse(args)
}

// TestCheckFlags: which flags are good together.
func TestCheckFlags(t *testing.T) {
	for _, test := range []struct {
		args string
		asks bool
		says string
	}{
		{"", false, ""},
		{"--check-images", true, ""},
		{"--check-images --credentials=nowhere --registry=r.example.org --registry=r.example.org=a.example.org --plain-http=localhost:5000", true, ""},
		{"--credentials=x", false, "--credentials, --registry and --plain-http do nothing without --check-images"},
		{"--registry=r.example.org", false, "--credentials, --registry and --plain-http do nothing without --check-images"},
		{"--plain-http=r.example.org", false, "--credentials, --registry and --plain-http do nothing without --check-images"},
		{"--check-images --registry=docker.io --plain-http=index.docker.io", false, `settings: Registries[1]: host "index.docker.io" is there twice`},
		{"--check-images --registry=r.example.org=", false, `invalid value "r.example.org=" for flag -registry: no token server behind =`},
	} {
		c, err := parse(t, strings.Fields(test.args)...)
		var check overrides.Check
		if err == nil {
			check, err = c.check()
		}
		if got := fmt.Sprint(err); err == nil && test.says != "" || err != nil && got != test.says {
			t.Errorf("%s: says %s, want %q", test.args, got, test.says)
		}
		if (check != nil) != test.asks {
			t.Errorf("%s: asks %t", test.args, check != nil)
		}
	}
	for _, args := range []string{"--check-images --registry=", "--check-images --plain-http=a/b", "--check-images --registry=r.example.org=/x"} {
		c, err := parse(t, strings.Fields(args)...)
		if err == nil {
			_, err = c.check()
		}
		if err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}

// A server is a registry on loopback: in the repository team the tag 1 is there, secret wants a
// credential, page has a web page for all that is not there, and busy wants to be asked tomorrow.
func server(t *testing.T) (host string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fault := func(status int, code string) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			if r.Method == http.MethodGet {
				fmt.Fprintf(w, `{"errors":[{"code":%q}]}`, code)
			}
		}
		repository, tag, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v2/"), "/manifests/")
		user, password, _ := r.BasicAuth()
		switch {
		case repository == "secret" && (user != "robot" || password != "pass-word"):
			w.Header().Set("WWW-Authenticate", `Basic realm="here"`)
			fault(http.StatusUnauthorized, "UNAUTHORIZED")
		case repository == "page" && tag != "1":
			http.Error(w, "<html>no such page", http.StatusNotFound)
		case repository == "busy":
			w.Header().Set("Retry-After", "86400")
			fault(http.StatusTooManyRequests, "TOOMANYREQUESTS")
		case tag != "1":
			fault(http.StatusNotFound, "MANIFEST_UNKNOWN")
		default:
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
			w.Header().Set("Docker-Content-Digest", "sha256:"+strings.Repeat("1", 64))
		}
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// nobody is a port on loopback that nobody listens at.
func nobody(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestCheck: what each answer of a registry makes of a table, and what the Event says, whole.
func TestCheck(t *testing.T) {
	host := server(t)
	closed := nobody(t)
	good := `{"auths":{"` + host + `":{"username":"robot","password":"pass-word"}}}`
	wrong := `{"auths":{"` + host + `":{"username":"robot","password":"another-word"}}}`
	for _, test := range []struct {
		why, credentials, image string
		through                 bool
		says                    string // of the image, "" where it is there
	}{
		{"there", "", host + "/team:1", true, ""},
		{"not there", "", host + "/team:2", false, host + "/team:2: not found: " + host + " answers 404 Not Found, MANIFEST_UNKNOWN"},
		{"with a credential", good, host + "/secret:1", true, ""},
		{"with a credential, not there", good, host + "/secret:2", false, host + "/secret:2: not found: " + host + " answers 404 Not Found, MANIFEST_UNKNOWN"},
		{"without one", "", host + "/secret:1", true, "rejected"},
		{"with a wrong one", wrong, host + "/secret:2", true, "rejected"},
		{"with a broken file", "{", host + "/secret:2", true, "unreachable"},
		{"a web page", "", host + "/page:2", true, "bad reply"},
		{"a busy registry", "", host + "/busy:2", true, "rate limited"},
		{"another registry", "", "r.example.org/team:2", true, "not configured"},
		{"nobody", "", closed + "/team:2", true, "unreachable"},
	} {
		t.Run(test.why, func(t *testing.T) {
			t.Parallel()
			args := []string{"--check-images", "--plain-http=" + host, "--plain-http=" + closed}
			if test.credentials != "" {
				file := filepath.Join(t.TempDir(), "config.json")
				if err := os.WriteFile(file, []byte(test.credentials), 0o600); err != nil {
					t.Fatal(err)
				}
				args = append(args, "--credentials="+file)
			}
			c, err := parse(t, args...)
			if err != nil {
				t.Fatal(err)
			}
			check, err := c.check()
			if err != nil {
				t.Fatal(err)
			}
			var fault error // what it said
			said := func(ctx context.Context, images []reference.Image) []error {
				errs := check(ctx, images)
				fault = errs[0]
				return errs
			}
			name, tag, _ := cutTag(test.image)
			text := fmt.Sprintf("_cluster:\n  image-overrides: [{name: nginx, newName: %q, newTag: %q}]\n", name, tag)
			recorder := events.NewFakeRecorder(10)
			source := &overrides.Source{Reader: cluster(t, text), Secret: overrides.DefaultSecret, Events: recorder, Check: said}
			through, again, err := source.Ask(t.Context())
			if err != nil || through != test.through || (again == 0) != test.through {
				t.Fatalf("%t, %s, %v", through, again, err)
			}
			if errors.Is(fault, overrides.ErrMissing) == test.through && test.says != "" || (fault == nil) != (test.says == "") {
				t.Fatalf("says %v", fault)
			}
			if fault != nil {
				if !strings.HasPrefix(fault.Error(), test.image+": ") || !strings.Contains(fault.Error(), test.says) {
					t.Errorf("says %v, want %s", fault, test.says)
				}
				for _, secret := range []string{"pass-word", "another-word"} {
					if strings.Contains(fault.Error(), secret) {
						t.Errorf("tells a secret: %v", fault)
					}
				}
			}

			table, err := imageoverrides.ParseSecret(map[string][]byte{"values.yaml": []byte(text)})
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			line := fmt.Sprintf("\n_cluster.image-overrides[0]: \"nginx\": %v", fault)
			switch {
			case !through:
				want = append(want, fmt.Sprintf("Warning ImageOverridesHeld the table with the hash %.12s is held back and releases keep the one that they have: of 1 new images, 1 not there. "+
					"Push them or mend the entries; they are asked for again in 30s.%s", table.Hash(), line))
			case fault != nil:
				want = append(want, fmt.Sprintf("Warning ImageOverridesUnchecked the table with the hash %.12s goes out unchecked: of 1 new images, nothing was learned about 1. "+
					"If pods cannot pull them, mend the entries; see to the operator's credentials and network.%s", table.Hash(), line))
			}
			if through {
				want = append(want, "Normal ImageOverridesRead 1 entries, hash "+table.Hash())
			}
			close(recorder.Events)
			got := slices.Collect(func(yield func(string) bool) {
				for e := range recorder.Events {
					if !yield(e) {
						return
					}
				}
			})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Events: -want +got\n%s", diff)
			}
		})
	}

	t.Run("a file that comes later", func(t *testing.T) {
		later := filepath.Join(t.TempDir(), "later.json")
		c, err := parse(t, "--check-images", "--plain-http="+host, "--credentials="+later)
		if err != nil {
			t.Fatal(err)
		}
		check, err := c.check()
		if err != nil {
			t.Fatal(err)
		}
		image, err := reference.Parse(host + "/secret:1")
		if err != nil {
			t.Fatal(err)
		}
		if err := check(t.Context(), []reference.Image{image})[0]; err == nil || !strings.Contains(err.Error(), later) || errors.Is(err, overrides.ErrMissing) {
			t.Errorf("says %v", err)
		}
		if err := os.WriteFile(later, []byte(good), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := check(t.Context(), []reference.Image{image})[0]; err != nil {
			t.Errorf("says %v", err)
		}
	})
	t.Run("a context that has ended", func(t *testing.T) {
		c, err := parse(t, "--check-images", "--plain-http="+host)
		if err != nil {
			t.Fatal(err)
		}
		check, err := c.check()
		if err != nil {
			t.Fatal(err)
		}
		image, err := reference.Parse(host + "/team:2")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := check(ctx, []reference.Image{image})[0]; !errors.Is(err, context.Canceled) || errors.Is(err, overrides.ErrMissing) {
			t.Errorf("says %v", err)
		}
	})
}

// TestCredentialsBounded: a file that no Secret could hold is refused, and no value of a broken one is shown.
func TestCredentialsBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.json")
	for text, want := range map[string]string{
		strings.Repeat(" ", maxCredentials+1):              file + ": is longer than 1048576 bytes",
		`{"auths":{"r.example.org":{"auth":"pass-word"}}}`: "",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := readKeyring(file)
		if err == nil || want != "" && err.Error() != want || !strings.HasPrefix(err.Error(), file+": ") || strings.Contains(err.Error(), "pass-word") {
			t.Errorf("says %v, want %s", err, want)
		}
	}
}

// cutTag splits an image that has a tag and may have a port.
func cutTag(image string) (name, tag string, found bool) {
	at := strings.LastIndexByte(image, ':')
	return image[:at], image[at+1:], at >= 0
}

// cluster is an API server with the Secret.
func cluster(t *testing.T, values string) client.Client {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), helmv2.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	key := overrides.DefaultSecret
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Data:       map[string][]byte{"values.yaml": []byte(values)},
	}).Build()
}
