package control

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

//go:embed addons.yaml
var addons string

// ApplyAddons server-side applies the cluster's own Pods beside the control plane.
func ApplyAddons(ctx context.Context, cfg *rest.Config, kubernetesVersion string) error {
	disco, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return fmt.Errorf("add-ons: %w", err)
	}
	groups, err := restmapper.GetAPIGroupResources(disco)
	if err != nil {
		return fmt.Errorf("add-ons: %w", err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("add-ons: %w", err)
	}
	text := strings.ReplaceAll(addons, "KUBERNETES_VERSION", kubernetesVersion)
	dec := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		var obj unstructured.Unstructured
		if err := dec.Decode(&obj.Object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("add-ons: %w", err)
		}
		if err := apply(ctx, client, mapper, &obj); err != nil {
			return fmt.Errorf("add-on %s %s: %w", obj.GetKind(), obj.GetName(), err)
		}
	}
}

func apply(ctx context.Context, client dynamic.Interface, mapper meta.RESTMapper, obj *unstructured.Unstructured) error {
	gvk := obj.GroupVersionKind()
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return err
	}
	resource := client.Resource(mapping.Resource)
	opts := metav1.ApplyOptions{FieldManager: "labcluster", Force: true}
	if ns := obj.GetNamespace(); ns != "" {
		_, err = resource.Namespace(ns).Apply(ctx, obj.GetName(), obj, opts)
		return err
	}
	_, err = resource.Apply(ctx, obj.GetName(), obj, opts)
	return err
}

// MarkControlPlane gives the node the role that kubeadm gives.
func MarkControlPlane(ctx context.Context, client kubernetes.Interface, node string) error {
	const patch = `{"metadata":{"labels":{"node-role.kubernetes.io/control-plane":""}}}`
	if _, err := client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("mark %s as control plane: %w", node, err)
	}
	return nil
}
