package link

// TagsReadFrom is how many links of a workspace, the newest, are looked at for the list of
// tags: some tenths of a second.
const TagsReadFrom = 100_000

// Tag is a tag and how many links have it.
type Tag struct {
	Name  string
	Links int64
}

// Tags are the tags of a workspace's links.
type Tags struct {
	Tags []Tag
	// Whole is false when there are more links than were looked at: counts are too low
	// then, and tags that only older links have are missing.
	Whole bool
}
