// SPDX-License-Identifier: Apache-2.0

// Package registry asks registries about images: is one there, which digest has
// a tag, and it copies images from one to another.
//
// Most callers need [New] and one of these:
//
//	c, err := registry.New(registry.Settings{})
//	err = c.Check(ctx, image)                  // nil: it is there
//	digest, err := c.Resolve(ctx, image)       // what its tag points at
//	answers, err := c.Each(ctx, images, nil)   // many, each distinct one once
//	table, found, err := registry.Pin(ctx, c, table, registry.IfNotPresent)
//	digest, err := c.Copy(ctx, from, to)       // with all platforms, verified
//
// # Four answers
//
// Each error says which decision it leads to, for errors.Is: [ErrNotFound], the
// image is not there, and the registry said so; [ErrRejected], the credentials; [ErrNotConfigured], nothing was
// asked; [ErrUnreachable], nothing was learned, with [ErrRateLimited] and [ErrBadReply] as kinds of it. Whatever is not sure is
// the last: a false "unreachable" costs another question, a false "not found" throws an image away. A web page with 404
// is no answer of a registry.
//
// # Rules
//
//   - The image is asked for at the registry of its name. Mirrors that a node's runtime is set up with are
//     not followed; Docker Hub's three names are one registry, which registry-1.docker.io answers for.
//   - HEAD first, for Docker Hub counts a GET as a pull; GET and a hash where HEAD settles nothing. There is no
//     ping. Manifests have 4 MiB at the most.
//   - A secret goes to the origin (scheme, host and port) of its own registry and to the token hosts that the
//     settings name, whatever a redirect or a challenge says. It stands in no error and in nothing that
//     prints. What a server repeats of it is taken out, in the spellings that servers have for it.
//   - Redirects are followed, without the secret where they leave the origin, and never from https to http.
//   - Credentials are those that kubelet would take, tried in its order, the next after a rejection only; see [Keyring].
//     Behind a credential a 401 or 403 is asked once more for its body, which may say that there is no such image.
//   - A 429 holds all callers of its registry until the time that it names, or ends their question if that is
//     too far: nobody asks before. So does a 503 that names one.
//   - What may change is asked up to three times, each within ten seconds, and what may not once.
//
// # Non-goals
//
// Nothing here lists or deletes, and credential helper programs are not run. Signatures are copied on wish, and not verified.
//
// # Compatibility
//
// This is v0: a minor version may change anything, and its release notes say so.
// Messages are for people and may change.
package registry
