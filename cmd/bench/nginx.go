package main

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"bench/experiment/server"
)

// nginxConfig is a streaming proxy: nothing is buffered or logged, and connections to the server stay open.
// Parameters: directory, address to listen on, address of the server.
const nginxConfig = `daemon off;
worker_processes auto;
worker_rlimit_nofile 65536;
pid %[1]s/nginx.pid;
error_log stderr crit;
events { worker_connections 16384; }
http {
  access_log off;
  client_body_temp_path %[1]s/body;
  proxy_temp_path %[1]s/proxy;
  fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi;
  scgi_temp_path %[1]s/scgi;
  keepalive_requests 1000000;
  upstream server { server %[3]s; keepalive 4096; keepalive_requests 1000000; }
  server {
    listen %[2]s backlog=4096;
    client_max_body_size 64m;
    location / {
      proxy_pass http://server;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_request_buffering off;
      proxy_read_timeout 1h;
    }
  }
}
`

// findNginx finds nginx on PATH, or where distributions install it, which is not on the PATH of every user.
func findNginx() (file string, ok bool) {
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin") {
		file := filepath.Join(dir, "nginx")
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, true
		}
	}
	return "", false
}

// nginxServer is nginx before a server, with its files in dir.
func nginxServer(nginx, dir, to string) (server.Config, error) {
	u, err := url.Parse(to)
	if err != nil {
		return server.Config{}, fmt.Errorf("configuring nginx: %w", err)
	}
	listen, err := freeLoopback()
	if err != nil {
		return server.Config{}, fmt.Errorf("configuring nginx: %w", err)
	}
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, nginxConfig, dir, listen, u.Host), 0o600); err != nil {
		return server.Config{}, fmt.Errorf("configuring nginx: %w", err)
	}
	return server.Config{Command: []string{nginx, "-p", dir, "-c", file}, URL: "http://" + listen}, nil
}

// freeLoopback is a loopback address that was free a moment ago: nginx can't report a port that it chose itself.
func freeLoopback() (string, error) {
	l, err := net.Listen("tcp", anyPort)
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
