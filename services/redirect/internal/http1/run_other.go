//go:build !linux

package http1

import "context"

func (s *Server) run(ctx, lifetime context.Context, end func()) error {
	return s.runPortable(ctx, lifetime, end)
}
