// Package web holds the built web app, so that the dashboard is one binary.
//
// It promises that the program builds on a clean checkout, where dist holds
// nothing but a placeholder: whoever serves it must look for index.html first.
//
// Every build holds third-party-licences.txt: name, version, licence id and the
// licence and notice texts of each npm package in it, found by the plugin in
// licences.ts from what was bundled. The build fails rather than leave one out.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Dist is what `npm run build` wrote: index.html and its assets, or nothing.
func Dist() (fs.FS, error) { return fs.Sub(dist, "dist") }
