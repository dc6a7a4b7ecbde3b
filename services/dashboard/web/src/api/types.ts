// Short names for the shapes of the API. The shapes themselves are generated from
// schemas/openapi.json: `npm run generate`.
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Link = Schemas["LinkView"];
export type LinkInput = Schemas["NewLinkBody"];
export type LinkEdit = Schemas["EditLinkBody"];
export type BulkAnswer = Schemas["BulkOutputBody"];
export type Prewarmed = Schemas["PrewarmView"];
export type Purged = Schemas["PurgeView"];
export type Domain = Schemas["DomainView"];
export type DomainInput = Schemas["NewDomainBody"];
export type DomainEdit = Schemas["EditDomainBody"];
export type ApiKey = Schemas["KeyView"];
export type NewApiKey = Schemas["NewKeyView"];
export type ApiKeyInput = Schemas["NewKeyInputBody"];
export type ApiKeyEdit = Schemas["EditKeyInputBody"];
export type Member = Schemas["UserView"];
export type NewMember = Schemas["NewUserView"];
export type MemberInput = Schemas["NewUserInputBody"];
export type UtmTemplate = Schemas["TemplateView"];
export type UtmTemplateInput = Schemas["NewTemplateInputBody"];
export type UtmTemplateEdit = Schemas["EditTemplateInputBody"];
export type TagList = Schemas["TagsOutputBody"];
export type ImportJob = Schemas["ImportView"];
export type Summary = Schemas["Summary"];
export type Bucket = Schemas["Bucket"];
export type Group = Schemas["Group"];
export type Series = Schemas["SeriesOutputBody"];
export type Totals = Schemas["Totals"];
export type Definition = Schemas["Definition"];
export type LinkFacts = Schemas["LinkFacts"];
export type LinkFigures = Schemas["LinkFigures"];
export type LinkFiguresPage = Schemas["LinksOutputBody"];
export type Moment = Schemas["Moment"];
export type LiveClick = Moment["recent"][number];
export type FieldError = Schemas["FieldError"];

export interface Counts {
  clicks: number;
  unique_visitors: number;
  bot_clicks: number;
}

export interface Page<T> {
  data: T[];
  next_cursor: string | null;
}

/** RFC 9457 with the members that this API adds. */
export interface ProblemDocument {
  title?: string;
  status: number;
  detail?: string;
  code: string;
  request_id?: string;
  errors?: FieldError[];
}

/** Who is logged in, as /session says. */
export interface Who {
  email: string;
  workspace_id: string;
  workspaces: Workspace[];
}

/** One that whoever is logged in is a member of. */
export interface Workspace {
  id: string;
  name: string;
  role: Member["role"];
}
