package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// etcd is a single-member etcd that keeps its data and its address across restarts.
type etcd struct {
	dir     string
	logs    bool
	client  string // host:port; "" before the first start
	peer    string
	running *embed.Etcd
}

func (e *etcd) start(ctx context.Context) error {
	cfg := embed.NewConfig()
	cfg.Name = "e2e"
	cfg.Dir = e.dir
	cfg.UnsafeNoFsync = true // a restart here is not a power cut
	cfg.LogLevel = "error"
	if !e.logs {
		cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	}
	cfg.ListenClientUrls = []url.URL{address(e.client)}
	cfg.AdvertiseClientUrls = cfg.ListenClientUrls
	cfg.ListenPeerUrls = []url.URL{address(e.peer)}
	cfg.AdvertisePeerUrls = cfg.ListenPeerUrls
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return fmt.Errorf("start etcd: %w", err)
	}
	select {
	case <-server.Server.ReadyNotify():
	case err := <-server.Err():
		server.Close()
		return fmt.Errorf("start etcd: %w", err)
	case <-ctx.Done():
		server.Close()
		return fmt.Errorf("start etcd: %w", context.Cause(ctx))
	}
	e.client = server.Clients[0].Addr().String()
	e.running = server
	return nil
}

func (e *etcd) stop() {
	if e.running != nil {
		e.running.Close()
		e.running = nil
	}
}

// compact drops all history before now.
func (e *etcd) compact(ctx context.Context) error {
	if e.running == nil {
		return errors.New("compact etcd: it is not running")
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{e.url()}, DialTimeout: 10 * time.Second, Context: ctx, Logger: zap.NewNop(),
	})
	if err != nil {
		return fmt.Errorf("compact etcd: %w", err)
	}
	defer client.Close()
	now, err := client.Get(ctx, "revision")
	if err != nil {
		return fmt.Errorf("compact etcd: %w", err)
	}
	_, err = client.Compact(ctx, now.Header.Revision, clientv3.WithCompactPhysical())
	if errors.Is(err, rpctypes.ErrCompacted) {
		return nil // nothing was written since the last time
	}
	if err != nil {
		return fmt.Errorf("compact etcd at revision %d: %w", now.Header.Revision, err)
	}
	return nil
}

func (e *etcd) url() string { return "http://" + e.client }

func address(hostport string) url.URL {
	if hostport == "" {
		hostport = "127.0.0.1:0"
	}
	return url.URL{Scheme: "http", Host: hostport}
}
