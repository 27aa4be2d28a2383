// SPDX-License-Identifier: Apache-2.0

// Package mirror makes the table that runs the images of a platform out of a mirror: one registry that holds a copy of
// each of them.
//
// Most callers need [Mirror.Table], which gives an inventory of images its entries, and [Mirror.Copies], which says what has to be
// in the mirror for that:
//
//	m := mirror.Mirror{Host: "registry.example.org", Repository: "mirror"}
//	table, left, err := m.Table(own, images)
//	copies, err := m.Copies(table, images)
//
// # Names
//
// The name that an image has in the mirror follows from its own, and from nothing else. With Host registry.example.org
// and Repository mirror:
//
//	nginx                      registry.example.org/mirror/docker.io/library/nginx
//	docker.io/grafana/grafana  registry.example.org/mirror/docker.io/grafana/grafana
//	quay.io/cilium/cilium      registry.example.org/mirror/quay.io/cilium/cilium
//	registry.local:5000/a/b    registry.example.org/mirror/registry.local_5000/a/b
//	Harbor.local/a             registry.example.org/mirror/harbor.local__u1/a
//	[2001:db8::1]:5000/a       registry.example.org/mirror/ipv6__2001xdb8xx1_5000/a
//
// The rules are:
//
//   - An image of Docker Hub is spelled out first, as [reference.Image.Canonical] does it, so that all of its spellings
//     meet in one name.
//   - The source's host is one component of the name, and its path follows as it is.
//   - The ':' in front of a port becomes '_'. A host that has a '_' itself, which no registry has and which can be written all the same,
//     gets __h behind it.
//   - Upper case letters of a host, which a path may not have, become lower case ones, and their places follow behind __u, counted
//     from 1 and joined by '-': Harbor.Local is harbor.local__u1-8.
//   - Of an IPv6 address ipv6__ takes the place of the brackets, and x that of each colon.
//   - Tag and digest stay.
//
// So two images never have one name, and a name tells the image that it is of. With WithoutHost the host is left out; two images of
// which nothing else differs are then an error, which names both.
//
// A name of more than 255 characters, the mirror's host counted, is an error: the OCI distribution specification tells registries to keep
// to that for the sake of clients.
//
// An image that is in the mirror's place already keeps its name.
package mirror
