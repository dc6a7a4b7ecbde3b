package linkoption

// Limits of a preview, in characters. What is longer is cut by every network anyway.
const (
	maxPreviewTitle = 200
	maxPreviewText  = 500
)

// Preview is what preview bots are shown instead of the target's own.
type Preview struct {
	Title string `json:"title,omitempty" maxLength:"200"`
	Text  string `json:"text,omitempty" maxLength:"500"`
	Image string `json:"image,omitempty" doc:"An absolute URL."`
}

// CheckPreview holds a preview against the limits. It returns it in the form that is
// stored. An image is a target like any other.
func CheckPreview(p Preview, target Target) (Preview, []FieldError) {
	var wrong problems
	wrong.text("preview.title", p.Title, maxPreviewTitle)
	wrong.text("preview.text", p.Text, maxPreviewText)
	if p.Image != "" {
		wrong.target(target, "preview.image", &p.Image)
	}
	return p, wrong
}
