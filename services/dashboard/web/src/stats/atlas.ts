import { geoNaturalEarth1, geoPath } from "d3-geo";
import codes from "i18n-iso-countries/codes.json";
import { feature } from "topojson-client";
import type { GeometryCollection, Topology } from "topojson-specification";
import atlasUrl from "world-atlas/countries-110m.json?url";

export const WIDTH = 960;
export const HEIGHT = 470;

/** A country as it is drawn. Two or three shapes of the atlas belong to no code. */
export interface Shape {
  key: string;
  country: string | undefined;
  path: string;
}

const ANTARCTICA = "010";

/** Loads the atlas from our own origin and draws it once. */
export async function loadShapes(signal: AbortSignal): Promise<Shape[]> {
  const answer = await fetch(atlasUrl, { signal });
  const atlas = (await answer.json()) as Topology<{ countries: GeometryCollection<{ name: string }> }>;
  const world = feature(atlas, atlas.objects.countries);
  const land = world.features.filter((f) => f.id !== ANTARCTICA);
  const projection = geoNaturalEarth1().fitSize([WIDTH, HEIGHT], {
    type: "FeatureCollection",
    features: land,
  });
  const draw = geoPath(projection).digits(1);
  const letters = new Map(codes.map(([two, , number]) => [number, two]));
  return land.map((f, i) => ({
    key: `${f.id ?? f.properties.name}-${i}`,
    country: f.id === undefined ? undefined : letters.get(String(f.id)),
    path: draw(f) ?? "",
  }));
}
