package store

import (
	"labbot/bot/lab"
)

// The keys of a run share the hash tag {run:ID}, so that one script may use
// them all on a Redis Cluster.
func recordKey(id lab.RunID) string { return "labbot:{run:" + string(id) + "}" }
func inputsKey(id lab.RunID) string { return recordKey(id) + ":inputs" }
func factsKey(id lab.RunID) string  { return recordKey(id) + ":facts" }
func slotsKey(id lab.RunID) string  { return recordKey(id) + ":slots" }
func seenKey(id lab.RunID) string   { return recordKey(id) + ":seen" }

// The indexes are hints: the record decides. They are written before a record
// and removed after it is closed, so they may name too much, never too little.
func activeKey(cluster string) string { return "labbot:{cluster:" + cluster + "}:active" }
func lineKey(cluster, namespace string) string {
	return "labbot:{cluster:" + cluster + "}:line:" + namespace
}
func channelKey(ch lab.ChannelID) string { return "labbot:{channel:" + string(ch) + "}:runs" }
func threadKey(ch lab.ChannelID, ts lab.TS) string {
	return "labbot:{thread:" + string(ch) + ":" + string(ts) + "}"
}

const (
	clustersKey = "labbot:clusters"
	schemaKey   = "labbot:schema"
)

func aliveKey(queue string) string { return "labbot:{queue:" + queue + "}:alive" }
