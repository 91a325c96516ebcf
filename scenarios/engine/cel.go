package engine

import (
	"fmt"
	"slices"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// Bounds of expressions. The cost of the dearest shipped expression on a class's
// namespace is below 5000.
const (
	costLimit    = 500_000
	nestingLimit = 4
)

// Hidden variables: what a function needs beside its arguments. The at sign
// keeps them out of reach of an expression's text.
const (
	hiddenReplicaSets = "@replicasets"
	hiddenSlices      = "@endpointslices"
	hiddenEvents      = "@events"
	hiddenRegistries  = "@registries"
)

// functionNames are the functions of the format, its own first, for suggestions.
var functionNames = []string{
	"cond", "rolledOut", "live", "ready", "waits", "exits", "restarts", "owner", "owned", "images",
	"template", "repo", "revisions", "ev", "addresses", "has", "size", "exists", "all", "exists_one", "filter", "map", "orValue",
}

// ownFunctions is how many of functionNames are not CEL's.
const ownFunctions = 15

// language is CEL with the functions of the format and without variables.
var language = sync.OnceValues(func() (*cel.Env, error) {
	object, list := cel.DynType, cel.ListType(cel.DynType)
	text := cel.MapType(cel.StringType, cel.StringType)
	return cel.NewEnv(
		cel.OptionalTypes(),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserExpressionSizeLimit(maxExpr),
		cel.ParserRecursionLimit(64),
		cel.ASTValidators(cel.ValidateRegexLiterals(), cel.ValidateComprehensionNestingLimit(nestingLimit)),
		cel.Macros(
			withHidden("revisions", 1, hiddenReplicaSets),
			withHidden("ev", 2, hiddenEvents),
			withHidden("addresses", 1, hiddenSlices),
			withHidden("repo", 1, hiddenRegistries),
		),
		cel.Variable(hiddenReplicaSets, list), cel.Variable(hiddenSlices, list),
		cel.Variable(hiddenEvents, list), cel.Variable(hiddenRegistries, text),

		unary("rolledOut", object, cel.BoolType, func(o any) any { m, _ := o.(map[string]any); return RolloutOf(m).Done }),
		unary("ready", object, cel.BoolType, func(o any) any { return o != nil && isReady(o) }),
		unary("waits", object, cel.ListType(cel.StringType), func(o any) any { return waitingReasons(o) }),
		unary("exits", object, list, func(o any) any { return exitsOf(o) }),
		unary("restarts", object, cel.IntType, func(o any) any { return restartsOf(o) }),
		unary("owner", object, cel.StringType, func(o any) any { return controllerOf(o) }),
		unary("images", object, cel.ListType(cel.StringType), func(o any) any { return imagesOf(o) }),
		unary("template", object, cel.DynType, func(o any) any {
			if t := templateOf(o); t != nil {
				return t
			}
			return types.NullValue
		}),
		cel.Function("live", cel.Overload("live_list", []*cel.Type{list}, list, cel.UnaryBinding(liveOf))),
		binary("cond", []*cel.Type{object, cel.StringType}, text, func(o, kind any) any {
			k, _ := kind.(string)
			c := conditionOf(o, k)
			return map[string]string{"status": c.Status, "reason": c.Reason, "message": c.Message}
		}),
		binary("owned", []*cel.Type{list, object}, list, func(l, o any) any {
			return pick(l, func(e any) bool { return uidOf(o) != "" && controllerOf(e) == uidOf(o) })
		}),
		binary("revisions", []*cel.Type{object, list}, cel.ListType(cel.IntType), func(o, sets any) any {
			return revisionsOf(o, items(sets))
		}),
		binary("addresses", []*cel.Type{object, list}, cel.ListType(cel.StringType), func(o, sets any) any {
			return addressesOf(o, items(sets))
		}),
		binary("repo", []*cel.Type{cel.StringType, text}, cel.StringType, func(image, registries any) any {
			i, _ := image.(string)
			r, _ := registries.(map[string]string)
			return repoOf(i, r)
		}),
		cel.Function("ev", cel.Overload("ev_object_reason", []*cel.Type{object, cel.StringType, list}, list,
			cel.FunctionBinding(func(args ...ref.Val) ref.Val {
				o, err := native(args[0])
				if err != nil {
					return err
				}
				reason, _ := args[1].Value().(string)
				return toVal(pick(args[2].Value(), func(e any) bool { return digString(e, "reason") == reason && regards(e, o) }))
			}))),
	)
})

// regards tells whether an Event speaks of an object: by UID, and for Nodes,
// whose Events carry a made-up UID, by name.
func regards(event, o any) bool {
	if digString(o, "kind") == "Node" {
		return digString(event, "regarding", "kind") == "Node" && digString(event, "regarding", "name") == nameOf(o)
	}
	return uidOf(o) != "" && digString(event, "regarding", "uid") == uidOf(o)
}

func withHidden(name string, argc int, hidden string) cel.Macro {
	return cel.GlobalMacro(name, argc, func(eh cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
		return eh.NewCall(name, append(append([]ast.Expr{}, args...), eh.NewIdent(hidden))...), nil
	})
}

func unary(name string, arg, result *cel.Type, f func(o any) any) cel.EnvOption {
	return cel.Function(name, cel.Overload(name+"_object", []*cel.Type{arg}, result, cel.UnaryBinding(func(v ref.Val) ref.Val {
		o, err := native(v)
		if err != nil {
			return err
		}
		return toVal(f(o))
	})))
}

func binary(name string, args []*cel.Type, result *cel.Type, f func(a, b any) any) cel.EnvOption {
	return cel.Function(name, cel.Overload(name+"_pair", args, result, cel.BinaryBinding(func(x, y ref.Val) ref.Val {
		a, err := native(x)
		if err != nil {
			return err
		}
		b, err := native(y)
		if err != nil {
			return err
		}
		return toVal(f(a, b))
	})))
}

func toVal(v any) ref.Val { return types.DefaultTypeAdapter.NativeToValue(v) }

// native gives the Go value behind a CEL value: nil for null, else an object, a
// list or a word. The second result is a CEL error for anything else.
func native(v ref.Val) (any, ref.Val) {
	if v == types.NullValue {
		return nil, nil
	}
	switch g := v.Value().(type) {
	case map[string]any, map[string]string, []any, []string, []ref.Val, string:
		return g, nil
	}
	if _, ok := v.(traits.Lister); ok {
		return v.Value(), nil
	}
	return nil, types.NewErr("want an object of the API, not %s", v.Type().TypeName())
}

// items gives the elements of a Go list of any of the forms that CEL keeps.
func items(l any) []any {
	switch l := l.(type) {
	case []any:
		return l
	case []ref.Val:
		out := make([]any, len(l))
		for i, e := range l {
			out[i] = e.Value()
		}
		return out
	}
	return nil
}

func pick(l any, keep func(any) bool) []any {
	out := []any{}
	for _, e := range items(l) {
		if keep(e) {
			out = append(out, e)
		}
	}
	return out
}

func liveOf(v ref.Val) ref.Val {
	l, err := native(v)
	if err != nil {
		return err
	}
	return toVal(pick(l, isLive))
}

// price makes a function over a list cost what it reads.
type price struct{}

// CallCost implements cel's ActualCostEstimator.
func (price) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	if !slices.Contains(functionNames[:ownFunctions], function) {
		return nil // CEL's own price
	}
	cost := uint64(1)
	for _, a := range args {
		if l, ok := a.(traits.Sizer); ok {
			if n, ok := l.Size().(types.Int); ok && n > 0 {
				cost += uint64(n)
			}
		}
	}
	return &cost
}

// compiled is one checked expression.
type compiled struct {
	src string
	prg cel.Program
}

func newProgram(env *cel.Env, a *cel.Ast, src string) (*compiled, error) {
	prg, err := env.Program(a, cel.EvalOptions(cel.OptOptimize), cel.CostTracking(price{}), cel.CostLimit(costLimit))
	if err != nil {
		return nil, fmt.Errorf("program of %q: %w", src, err)
	}
	return &compiled{src: src, prg: prg}, nil
}
