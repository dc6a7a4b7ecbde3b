// Package kafka runs Apache Kafka as the local stack's broker: one KRaft node, broker and controller in one process.
//
// It promises that a data directory is either wholly formatted or not there, that everything Kafka writes is in it,
// that SIGKILL loses nothing which a client was told is stored (Kafka leaves it to the system to write it to the disk,
// so a power cut may), and that it listens on 127.0.0.1 only. Like the embedded broker it refuses to create topics by
// itself, and it knows no passwords, so it is not for a machine with other users.
package kafka

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// clusterID shows in metadata answers, so that a client which talks to the wrong broker can tell.
const clusterID = "linkstream-local-kafka"

// Files in the data directory, which is the working directory of Kafka: so the settings hold no path that would have
// to be escaped, and hold for a directory that was moved.
const (
	settingsFile = "server.properties"
	loggingFile  = "logging.properties"
	logDir       = "log" // Kafka's word for the records
	temporaryDir = "tmp"
)

// Server is one Kafka and its data directory.
type Server struct {
	Runtime        Runtime
	Dir            string
	Port           int // for clients, on 127.0.0.1
	ControllerPort int // on which the node talks to itself
}

// Command runs a program to its end in a working directory.
type Command func(ctx context.Context, dir, path string, args ...string) error

// Init makes and formats the data directory if it is not there. An interrupted formatting leaves nothing that a later
// start would use.
func (s Server) Init(ctx context.Context, run Command) error {
	_, err := os.Stat(s.Dir)
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("looking for the data directory: %w", err)
	}
	unfinished := s
	unfinished.Dir = s.Dir + ".new"
	if err := os.RemoveAll(unfinished.Dir); err != nil {
		return fmt.Errorf("removing an unfinished data directory: %w", err)
	}
	if err := unfinished.Prepare(); err != nil {
		return err
	}
	args := unfinished.java("kafka.tools.StorageTool", "format", "--cluster-id", clusterID, "--config", settingsFile)
	if err := run(ctx, unfinished.Dir, s.Runtime.Java, args...); err != nil {
		return fmt.Errorf("formatting the data directory: %w", err)
	}
	if err := os.Rename(unfinished.Dir, s.Dir); err != nil {
		return fmt.Errorf("moving the data directory into place: %w", err)
	}
	return nil
}

// Args are the command line of the server process, to be run in Dir. SIGTERM ends it in order, with exit status 143.
func (s Server) Args() []string { return s.java("kafka.Kafka", settingsFile) }

// Prepare readies the directory for a start: the settings of this time, and none of the libraries that a killed Java
// has unpacked.
func (s Server) Prepare() error {
	temporary := filepath.Join(s.Dir, temporaryDir)
	if err := os.RemoveAll(temporary); err != nil {
		return fmt.Errorf("removing temporary files: %w", err)
	}
	if err := os.MkdirAll(temporary, 0o700); err != nil {
		return fmt.Errorf("creating the data directory: %w", err)
	}
	for name, text := range map[string]string{settingsFile: s.settings(), loggingFile: logging} {
		if err := os.WriteFile(filepath.Join(s.Dir, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("writing the settings: %w", err)
		}
	}
	return nil
}

// java is the command line of one of Kafka's programs.
func (s Server) java(class string, args ...string) []string {
	return append([]string{
		"-Xmx512m",
		"-XX:+UseSerialGC",            // the cheapest for a small heap on few cores
		"-XX:+ExitOnOutOfMemoryError", // a new one is of more use than half a broker
		"-XX:-UsePerfData",            // would be a file in /tmp
		"-Djava.io.tmpdir=" + s.Dir + "/" + temporaryDir, // takes the native codecs
		"-Dlog4j2.configurationFile=" + loggingFile,
		"-cp", filepath.Join(s.Runtime.Jars, "*"), // Java itself expands this
		class,
	}, args...)
}
