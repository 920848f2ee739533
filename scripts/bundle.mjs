// Bundles what tsc wrote to build/js into dist: the program, the library, and the thread that reads large
// rules files.
import { writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'
import { noticesOf, packagesOf } from './lib/notices.mjs'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const FROM = join(ROOT, 'build/js/')
const TO = join(ROOT, 'dist/')

const { output } = await build({
  input: {
    'cli/main': `${FROM}cli/main.js`,
    'library/index': `${FROM}cli/library/index.js`,
    'rules/file/parse-worker': `${FROM}rules/file/parse-worker.js`,
  },
  platform: 'node',
  // Optional, or needed by few commands.
  external: [/^@modelcontextprotocol\//, /^ajv/, /^undici/],
  output: {
    dir: TO,
    // Holds 7 MiB less at rest than modules do on Node 24.
    format: 'cjs',
    comments: false,
    minify: false,
    entryFileNames: '[name].js',
    // In a directory of dist, as the modules are in one of src: they find files by `import.meta.url`.
    chunkFileNames: 'cli/[name]-[hash].js',
  },
})
const chunks = output.filter((file) => file.type === 'chunk')
await writeFile(join(TO, 'package.json'), '{ "type": "commonjs" }\n')
const packages = await packagesOf(chunks.flatMap(({ moduleIds }) => moduleIds))
await writeFile(join(TO, 'third-party-notices.txt'), noticesOf(packages))
// For the bill of materials of the image.
await writeFile(
  join(FROM, 'packages.json'),
  JSON.stringify(packages.map(({ name, version }) => `${name}@${version}`)),
)
// Which modules are in which file, for tests of what is loaded when.
const contents = chunks.map(({ fileName, moduleIds }) => [
  fileName,
  moduleIds.map((id) => relative(ROOT, id)),
])
await writeFile(join(FROM, 'chunks.json'), JSON.stringify(Object.fromEntries(contents)))
