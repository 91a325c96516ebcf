package main

import (
	"encoding/json"
	"fmt"
	"os"

	genericapiserver "k8s.io/apiserver/pkg/server"

	"labbot/k8s/labcluster/node"
)

// runKubelet is the process of one node; its configuration is its argument.
func runKubelet() int {
	var cfg node.Config
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "kubelet is started by labcluster itself")
		return 2
	}
	if err := json.Unmarshal([]byte(os.Args[1]), &cfg); err != nil {
		fmt.Fprintln(os.Stderr, "kubelet configuration:", err)
		return 2
	}
	if err := node.Run(genericapiserver.SetupSignalContext(), cfg); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
