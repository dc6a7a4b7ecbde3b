// Package versus measures package ratelimit beside go-redis/redis_rate, in pairs, in one
// run on one Redis. It is a module of its own, so that the other library is in no
// program's dependencies.
//
// It promises figures about decisions a second and about commands for a decision. It
// refuses to judge: a test that fails because a machine is busy says nothing.
package versus
