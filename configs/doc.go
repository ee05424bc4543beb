// Package configs holds the machine files: what each simulated GPU is made of,
// with the class and source of every number.
//
// A machine file is YAML. Its keys are the field names of [Machine] in
// snake_case, grouped as the struct is, and a value states where it comes from:
//
//	name: mi355x-big-lds
//	base: mi355x                # a built-in name, or a file beside this one
//	lds:
//	  bytes: {value: 262144, class: assumed, source: "what if"}
//	  latency_cycles: 60        # short form: assumed, "set in FILE"
//
// The class is one of
//
//	published   vendor documents, driver headers, compiler sources
//	measured    somebody timed it on the part
//	derived     arithmetic on published or measured numbers, shown in the source
//	calibrated  fitted; fitted_on names exactly the points it was fitted on
//	assumed     chosen here; the source says why
//
// [Load] follows base links, refuses unknown and duplicate keys, wrong types
// and values outside the range of the leaf, and checks what must hold between
// leaves. [Resolved.Set] changes one leaf, [Resolved.Validate] repeats the
// checks, [Resolved.YAML] prints the machine so that it loads again unchanged,
// and [Keys] describes every leaf.
//
// The built-in files form a chain that shows what changed from part to part:
// mi300x is complete, mi300a, mi325x and mi355x list what differs from it, mi350x and
// teaching what differs from mi355x.
package configs
