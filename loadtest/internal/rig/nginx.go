package rig

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/linkstream/linkstream/loadtest/internal/wire"
)

// nginxConfig is one worker that answers every request alike, writes no log and
// keeps connections: nothing that would slow it down.
const nginxConfig = `daemon off;
worker_processes 1;
pid %[1]s/nginx.pid;
error_log stderr warn;
events { worker_connections 1024; }
http {
	access_log off;
	keepalive_timeout 75s;
	keepalive_requests 1000000000;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	server {
		listen %[2]s;
		location / { return 302 "%[3]s"; }
	}
}
`

// nginxPath finds nginx, which Debian puts where only root looks for programs.
func nginxPath() (string, error) {
	for _, name := range []string{"nginx", "/usr/sbin/nginx", "/usr/local/sbin/nginx"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("nginx is missing, which the edge is compared with: apt-get install nginx-light")
}

// startNginx starts nginx with the target of link 0 as its constant answer.
func (r *Rig) startNginx(ctx context.Context) error {
	path, err := nginxPath()
	if err != nil {
		return err
	}
	dir := filepath.Join(r.dir, "nginx")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	config := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf(nginxConfig, dir, r.NginxAddr(), wire.Target(wire.Slug(0)))
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return fmt.Errorf("writing nginx' configuration: %w", err)
	}
	if r.nginx, err = r.start(r.Target, "nginx", nil, path, "-p", dir, "-c", config, "-e", "stderr"); err != nil {
		return err
	}
	return r.nginx.until(ctx, func(ctx context.Context) error {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", r.NginxAddr())
		if err != nil {
			return err
		}
		return conn.Close()
	})
}
