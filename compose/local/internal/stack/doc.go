// Package stack starts, watches and stops the local stack: the stores, then migrations and the first workspace, then
// the services, each as a process of its own.
//
// It promises that one stack at a time uses a folder, that what is missing is said before anything is started, in one
// line that names the cure, that a process that dies is started again, and that when Up returns nothing it started is
// left. It changes nothing outside its folder, but for the PostgreSQL data of a root user whose folder an unprivileged account cannot reach.
package stack
