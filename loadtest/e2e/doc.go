// Package e2e tests the whole system as a stranger sees it: it starts the built
// programs with the local stack (two regions, two edges each) and talks to them
// over HTTP, Redis' and Kafka's protocols.
//
// The programs come from LINKSTREAM_E2E_BIN; `make e2e` builds them and sets it.
package e2e
