package isa

func registerConvertSmall() {}
