// Command labcluster is a whole Kubernetes cluster in one binary, for labs.
//
// The same file is every component: the first argument chooses which one.
package main

import (
	"fmt"
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	if len(os.Args) < 2 {
		os.Exit(runCommand())
	}
	// The components read os.Args themselves, as they do in their own binaries.
	component := os.Args[1]
	switch component {
	case "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", insideCommand:
		os.Args = os.Args[1:]
	default:
		os.Exit(runCommand())
	}
	switch component {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "kube-controller-manager":
		os.Exit(cli.Run(controllermanager.NewControllerManagerCommand()))
	case "kube-scheduler":
		os.Exit(cli.Run(scheduler.NewSchedulerCommand()))
	case "kubelet":
		os.Exit(runKubelet())
	case insideCommand:
		os.Exit(runInside())
	}
}

func runCommand() int {
	if err := newCommand().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "labcluster:", err)
		return 1
	}
	return 0
}
