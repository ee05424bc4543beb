package device

import (
	"bytes"
	"embed"
	"fmt"
	"text/template"
)

// The files that are the same in every exported folder.
//
//go:embed template
var templates embed.FS

func templateFile(name string) []byte {
	b, err := templates.ReadFile("template/" + name)
	if err != nil {
		panic(err) // it is compiled in
	}
	return b
}

var readmeTemplate = template.Must(template.New("README").Funcs(template.FuncMap{"size": sizeText}).Parse(string(templateFile("README.tmpl"))))

// readme is the folder's README.
func (e *exporter) readme() []byte {
	var b bytes.Buffer
	if err := readmeTemplate.Execute(&b, &e.m); err != nil {
		panic(err) // the template names a field that the manifest does not have
	}
	return b.Bytes()
}

// sizeText is a size as people read it.
func sizeText(n uint64) string {
	for _, u := range []struct {
		name  string
		shift uint
	}{{"GiB", 30}, {"MiB", 20}, {"KiB", 10}} {
		if n >= 1<<u.shift {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(uint64(1)<<u.shift), u.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}
