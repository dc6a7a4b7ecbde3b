// Package dockercompose has no code, only tests: the Docker Compose stacks beside this
// module say the same as the local stack's plan. No container engine is needed for that,
// and the tests start none; they read the files as Compose would.
package dockercompose
