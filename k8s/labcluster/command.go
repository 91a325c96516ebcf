package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
)

// version is set by the linker.
var version = "development"

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "labcluster",
		Short:         "A whole Kubernetes cluster in one binary, for labs",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(upCommand(), statusCommand(), downCommand(), logsCommand(), &cobra.Command{
		Use: "version", Short: "Print the versions", Args: cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			fmt.Fprintf(cmd.OutOrStdout(), "labcluster %s, Kubernetes %s\n", version, kubernetesVersion())
		},
	})
	return root
}

func dataFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "data", "", "the cluster's folder (required)")
	_ = cmd.MarkFlagRequired("data")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		abs, err := filepath.Abs(*dir)
		*dir = abs
		return err
	}
}

func upCommand() *cobra.Command {
	var o upOptions
	cmd := &cobra.Command{
		Use: "up", Short: "Run the cluster in the foreground until a signal or the end of the parent", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return up(o, cmd.OutOrStdout()) },
	}
	dataFlag(cmd, &o.Dir)
	f := cmd.Flags()
	f.IntVar(&o.Port, "port", 0, "port of the API on 127.0.0.1 (default: the last one, or a free one)")
	f.StringVar(&o.Images, "images", "", "image catalogue in place of the built-in one")
	f.IntVar(&o.Nodes, "nodes", 1, "number of nodes, 1 to 9")
	f.BoolVar(&o.Audit, "kubernetes-audit", false, "write DIR/logs/audit.log")
	f.BoolVar(&o.StopWithParent, "stop-with-parent", true, "stop when the process that started this one ends")
	f.DurationVar(&o.Timeout, "timeout", 2*time.Minute, "give up when the cluster is not ready by then")
	return cmd
}

func statusCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "status", Short: "Show the components; exit code 1 when the cluster is not running", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return status(dir, cmd.OutOrStdout()) },
	}
	dataFlag(cmd, &dir)
	return cmd
}

func downCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "down", Short: "Stop the cluster; its objects stay in the folder", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return down(dir, cmd.OutOrStdout()) },
	}
	dataFlag(cmd, &dir)
	return cmd
}

func logsCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "logs COMPONENT", Short: "Print the log of etcd, kube-apiserver, kube-controller-manager, kube-scheduler or a node", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return logs(dir, args[0], cmd.OutOrStdout()) },
	}
	dataFlag(cmd, &dir)
	return cmd
}
