package apitest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"sort"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// listing is the answer to a list, still in stored form.
type listing struct {
	endpoint
	objects []*object
	damage  []damage // of each object
	meta    metav1.ListMeta
}

// listPlan says which state a list shows, and which part of it.
type listPlan struct {
	exact bool   // the state at rv, not the present one
	rv    uint64 // 0 if not exact
	start string // the first key that may be shown
	limit int    // 0: no limit
}

// planList decides what a list with these options shows, by the table of the API concepts page, "Semantics for get and list".
// current is the server's resource version.
func planList(opts metav1.ListOptions, current uint64, watchCache bool) (listPlan, error) {
	rv, err := parseRV(opts.ResourceVersion)
	if err != nil {
		return listPlan{}, err
	}
	rvPath, matchPath := field.NewPath("resourceVersion"), field.NewPath("resourceVersionMatch")
	plan := listPlan{limit: int(max(opts.Limit, 0))}
	if opts.SendInitialEvents != nil {
		return plan, errListOptions(field.Forbidden(field.NewPath("sendInitialEvents"), "only for watch"))
	}
	if opts.Continue != "" {
		switch {
		case opts.ResourceVersionMatch != "":
			return plan, errListOptions(field.Forbidden(matchPath, "not with continue"))
		case rv != 0:
			return plan, errBadRequest("resource version and continue cannot be used together")
		}
		token, err := parseContinue(opts.Continue)
		if err != nil {
			return plan, err
		}
		plan.start = token.Start
		if token.RV > 0 {
			plan.exact, plan.rv = true, uint64(token.RV)
		}
		if watchCache && opts.ResourceVersion == "0" {
			plan.limit = 0
		}
		return plan, nil
	}
	switch opts.ResourceVersionMatch {
	case "":
		plan.exact = plan.limit > 0 && rv > 0
	case metav1.ResourceVersionMatchExact:
		if rv == 0 {
			return plan, errListOptions(field.Forbidden(matchPath, `"Exact" needs a resource version other than "0"`))
		}
		plan.exact = true
	case metav1.ResourceVersionMatchNotOlderThan:
		if opts.ResourceVersion == "" {
			return plan, errListOptions(field.Required(rvPath, "resourceVersionMatch needs it"))
		}
	default:
		return plan, errListOptions(field.NotSupported(matchPath, opts.ResourceVersionMatch,
			[]metav1.ResourceVersionMatch{metav1.ResourceVersionMatchExact, metav1.ResourceVersionMatchNotOlderThan}))
	}
	if rv > current {
		return plan, TooLargeResourceVersion(rv, current)
	}
	if plan.exact {
		plan.rv = rv
	}
	if watchCache && opts.ResourceVersion == "0" {
		plan.limit = 0
	}
	return plan, nil
}

// continueToken tells where a list goes on, in the form of real servers.
type continueToken struct {
	APIVersion string `json:"v"`
	RV         int64  `json:"rv"` // -1: the present state
	Start      string `json:"start"`
}

func (t continueToken) String() string {
	t.APIVersion = "meta.k8s.io/v1"
	b, err := json.Marshal(t)
	if err != nil {
		panic("BUG: continue token: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func parseContinue(s string) (continueToken, error) {
	var t continueToken
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		err = json.Unmarshal(b, &t)
	}
	if err == nil && (t.APIVersion != "meta.k8s.io/v1" || t.Start == "" || t.RV == 0) {
		return t, errBadRequest("continue token is not valid: %q", s)
	}
	if err != nil {
		return t, errBadRequest("continue token is not valid: %v", err)
	}
	return t, nil
}

// list answers a list request, faults included.
func (s *Server) list(ctx context.Context, e endpoint, namespace string, opts metav1.ListOptions) (*listing, error) {
	faults, err := s.admit(ctx, Request{Verb: "list", Resource: e.gvr, Namespace: namespace, Options: opts})
	if err != nil {
		return nil, err
	}
	sel, err := s.selection(e, namespace, opts)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listLocked(e, sel, opts, faults)
}

func (s *Server) listLocked(e endpoint, sel selection, opts metav1.ListOptions, faults active) (*listing, error) {
	plan, err := planList(opts, s.rv, !s.opts.NoWatchCache)
	if err != nil {
		return nil, err
	}
	shown, rv := s.rv, s.rv
	switch expiry := faults.continueExpiry(); {
	case opts.Continue != "" && expiry != 0, plan.exact && plan.rv < e.history.floor && opts.Continue != "":
		token := continueToken{RV: -1, Start: plan.start}.String()
		if expiry == ExpireWithoutToken {
			token = ""
		}
		return nil, errContinueExpired(token)
	case plan.exact && plan.rv < e.history.floor:
		return nil, errExpired(plan.rv, e.history.floor)
	case plan.exact && plan.rv > s.rv: // a token from before a restore
		return nil, errUnknownRV(plan.rv, s.rv)
	case plan.exact:
		shown, rv = plan.rv, plan.rv
	case opts.ResourceVersion != "":
		if stale := faults.staleRV(); stale >= max(e.history.floor, 1) && stale < s.rv {
			if asked, _ := parseRV(opts.ResourceVersion); asked <= stale {
				shown, rv = stale, stale
			}
		}
	}
	objects := sel.within(e.snapshotLocked(shown, s.rv).objects)
	objects = objects[sort.Search(len(objects), func(i int) bool { return objects[i].key >= plan.start }):]

	l := &listing{endpoint: e, meta: metav1.ListMeta{ResourceVersion: formatRV(rv)}}
	if !sel.shard.Everything() {
		l.meta.ShardInfo = &metav1.ShardInfo{Selector: opts.ShardSelector}
	}
	for i, o := range objects {
		if !sel.all() && !sel.matches(o) {
			continue
		}
		if plan.limit > 0 && len(l.objects) == plan.limit {
			l.meta.Continue = continueToken{RV: int64(rv), Start: o.key}.String()
			if sel.all() {
				left := int64(len(objects) - i)
				l.meta.RemainingItemCount = &left
			}
			break
		}
		l.objects = append(l.objects, o)
		l.damage = append(l.damage, faults.damageTo(o.key))
	}
	return l, nil
}
