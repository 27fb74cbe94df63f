package cache

import (
	"fmt"
	"path"
	"reflect"
	"runtime"
	"strings"
)

// ownPackage is the import path of this package, wherever it lies.
var ownPackage = reflect.TypeFor[Reflector]().PkgPath()

// callSite is file and line of the nearest caller outside this package, for want of a name.
func callSite() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		frame, more := frames.Next()
		if !strings.HasPrefix(frame.Function, ownPackage+".") {
			dir, file := path.Split(frame.File)
			return fmt.Sprintf("%s/%s:%d", path.Base(dir), file, frame.Line)
		}
		if !more {
			return "unknown"
		}
	}
}
