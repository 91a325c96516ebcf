package k8s

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"labbot/bot/lab"
	"labbot/bot/run"
	"labbot/k8s/fault"
)

// listWithin ends a question of the janitor.
const listWithin = 10 * time.Second

var _ run.NamespaceLister = (*Cluster)(nil)

// Owned lists the namespaces that labbot has made on this cluster, by any run.
func (c *Cluster) Owned(ctx context.Context) ([]run.Owned, error) {
	ctx, cancel := context.WithTimeout(ctx, listWithin)
	defer cancel()
	list, err := c.clients.typed.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: fault.LabelOwned + "=true"})
	if err != nil {
		return nil, fmt.Errorf("list the namespaces of labbot: %w", err)
	}
	var owned []run.Owned
	for i := range list.Items {
		ns := &list.Items[i]
		if !fault.Owned(ns) {
			continue // the label alone, on a name that labbot never uses, is not ours
		}
		expires, _ := time.Parse(time.RFC3339, ns.Annotations[fault.AnnotationExpires]) // zero when unreadable
		owned = append(owned, run.Owned{
			Name: ns.Name, UID: string(ns.UID), Run: lab.RunID(ns.Labels[fault.LabelRun]), Expires: expires,
		})
	}
	return owned, nil
}

// DeleteOwned makes one attempt to remove a namespace that labbot has made, by
// name and UID. gone says that it is no more; until then remains says, in the
// API's words, what keeps it. Any other namespace is refused untouched.
func (c *Cluster) DeleteOwned(ctx context.Context, name, uid string) (gone bool, remains string, err error) {
	ctx, cancel := context.WithTimeout(ctx, listWithin)
	defer cancel()
	namespaces := c.clients.typed.CoreV1().Namespaces()
	ns, err := namespaces.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && ns.UID != types.UID(uid):
		return true, "", nil
	case err != nil:
		return false, "", fmt.Errorf("delete namespace %s: %w", name, err)
	case !fault.Owned(ns):
		return false, "", fmt.Errorf("delete namespace %s: %w", name, ErrOutside)
	case ns.DeletionTimestamp != nil:
		return false, fault.Remains(ns), nil
	}
	if err := fault.DeleteNamespace(ctx, c.clients.typed, name, ns.UID); err != nil {
		return false, "", fmt.Errorf("delete namespace %s: %w", name, err)
	}
	return false, "deletion asked for", nil
}

// simulated tells whether any Node says of itself that it is simulated, by its
// label or its runtime. A role that may not read Nodes gets false.
func (c *Cluster) simulated(ctx context.Context) (bool, error) {
	nodes, err := c.clients.typed.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for i := range nodes.Items {
		n := &nodes.Items[i]
		if n.Labels[LabelSimulated] == "true" || strings.HasPrefix(n.Status.NodeInfo.ContainerRuntimeVersion, "simulated://") {
			return true, nil
		}
	}
	return false, nil
}
