package k8s

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
)

// clusterWide are the kinds of Kubernetes itself that scenarios may name and
// that live in no namespace.
var clusterWide = map[string]bool{
	"Namespace": true, "Node": true, "PersistentVolume": true, "StorageClass": true, "PriorityClass": true,
	"IngressClass": true, "RuntimeClass": true, "ClusterRole": true, "ClusterRoleBinding": true, "CSINode": true,
	"CSIDriver": true, "VolumeAttachment": true, "CertificateSigningRequest": true,
}

// known are the groups whose kinds need no question to the server, so that a
// run can be set up while it does not answer.
var known = map[schema.GroupVersion]bool{
	{Version: "v1"}: true, {Group: "apps", Version: "v1"}: true, {Group: "batch", Version: "v1"}: true,
	{Group: "networking.k8s.io", Version: "v1"}: true, {Group: "policy", Version: "v1"}: true,
	{Group: "rbac.authorization.k8s.io", Version: "v1"}: true, {Group: "storage.k8s.io", Version: "v1"}: true,
	{Group: "scheduling.k8s.io", Version: "v1"}: true, {Group: "autoscaling", Version: "v2"}: true,
	{Group: "discovery.k8s.io", Version: "v1"}: true,
}

type kind struct {
	gvr        schema.GroupVersionResource
	namespaced bool
}

// kinds finds the resource of a kind: the built-in ones without a question, any
// other by discovery, remembered.
type kinds struct {
	server discovery.DiscoveryInterface

	mu    sync.Mutex
	asked map[schema.GroupVersionKind]kind
}

func newKinds(server discovery.DiscoveryInterface) *kinds {
	return &kinds{server: server, asked: map[schema.GroupVersionKind]kind{}}
}

func (k *kinds) resolve(ctx context.Context, apiVersion, name string) (schema.GroupVersionResource, bool, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return schema.GroupVersionResource{}, false, fmt.Errorf("apiVersion %q: %w", apiVersion, err)
	}
	gvk := gv.WithKind(name)
	if known[gv] && scheme.Scheme.Recognizes(gvk) {
		gvr, _ := meta.UnsafeGuessKindToResource(gvk)
		return gvr, !clusterWide[name], nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if found, ok := k.asked[gvk]; ok {
		return found.gvr, found.namespaced, nil
	}
	found, err := k.ask(ctx, gvk)
	if err != nil {
		return schema.GroupVersionResource{}, false, err
	}
	k.asked[gvk] = found
	return found.gvr, found.namespaced, nil
}

func (k *kinds) ask(ctx context.Context, gvk schema.GroupVersionKind) (kind, error) {
	var list metav1.APIResourceList
	path := "/apis/" + gvk.GroupVersion().String()
	if gvk.Group == "" {
		path = "/api/" + gvk.Version
	}
	if err := k.server.RESTClient().Get().AbsPath(path).Do(ctx).Into(&list); err != nil {
		return kind{}, fmt.Errorf("ask the server for the kinds of %s: %w", gvk.GroupVersion(), err)
	}
	for _, r := range list.APIResources {
		// A name with a slash is a subresource, which has the kind of another.
		if r.Kind == gvk.Kind && !strings.Contains(r.Name, "/") {
			return kind{gvk.GroupVersion().WithResource(r.Name), r.Namespaced}, nil
		}
	}
	return kind{}, fmt.Errorf("the server knows no kind %s in %s", gvk.Kind, gvk.GroupVersion())
}
