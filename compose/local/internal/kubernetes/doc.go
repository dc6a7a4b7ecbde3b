// Package kubernetes has no code, only tests: the manifests beside this module are built
// as kustomize builds them, decoded strictly as the types of Kubernetes' own API, and say
// the same as the local stack's plan. No cluster is needed for that, and the tests reach
// none.
package kubernetes
