// Prints the bill of materials of the image: the packages that it installs, and those within the
// bundle.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const bundled = new Set(
  JSON.parse(readFileSync(new URL('../build/js/packages.json', import.meta.url), 'utf8')),
)
const all = JSON.parse(
  execFileSync('npm', ['sbom', '--sbom-type=application', '--sbom-format=cyclonedx'], {
    maxBuffer: 1 << 26,
    encoding: 'utf8',
  }),
)
const components = all.components.filter(
  ({ name, version, properties, 'bom-ref': ref }) =>
    // The workspaces are parts of the program itself.
    !ref.startsWith('@mcp-squall/') &&
    (bundled.has(`${name}@${version}`) ||
      !properties?.some((property) => property.name === 'cdx:npm:package:development')),
)
const kept = new Set(
  [all.metadata.component, ...components].map((component) => component['bom-ref']),
)
const dependencies = all.dependencies
  .filter(({ ref }) => kept.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => kept.has(one)) }))
process.stdout.write(`${JSON.stringify({ ...all, components, dependencies }, null, 2)}\n`)
