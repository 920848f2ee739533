// Makes the program of what tsc wrote to build/js: a few files instead of hundreds, so that it starts in
// little more than half the time. Packages that a start needs are in them; what is loaded late stays outside.
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { noticesOf } from './lib/notices.mjs'
import { startChunks } from './lib/start-chunks.mjs'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const FROM = join(ROOT, 'build/js/')
const TO = join(ROOT, 'dist/')

/** The files that come of one module, with all that it needs. */
async function bundled(/** @type {string} */ entry, /** @type {object} */ output) {
  const bundle = await rolldown({
    input: { [entry]: `${FROM}${entry}.js` },
    platform: 'node',
    // What a user may leave out, and what no start needs.
    external: [/^@modelcontextprotocol\//, /^ajv/, /^undici/],
  })
  try {
    const made = await bundle.generate({
      format: 'esm',
      comments: false,
      // Names and lines stay as they are, for whoever reads a stack trace.
      minify: false,
      entryFileNames: '[name].js',
      // One folder deep, as the modules are: what they find by `import.meta.url` is found as before.
      chunkFileNames: 'cli/[name]-[hash].js',
      ...output,
    })
    return made.output.filter((file) => file.type === 'chunk')
  } finally {
    await bundle.close()
  }
}

/** V8 keeps a file's text for ever, and one sign beyond Latin-1 in it doubles what it takes. */
function asAscii(/** @type {string} */ code) {
  return code.replaceAll(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

const files = [
  ...(await bundled('cli/main', { codeSplitting: { groups: startChunks(FROM) } })),
  // A thread of its own starts with each text that it reads, and needs nothing of the rest.
  ...(await bundled('rules/parse-worker', { codeSplitting: false })),
]
for (const { fileName, code } of files) {
  const file = join(TO, fileName)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, asAscii(code))
}
const modules = files.flatMap(({ moduleIds }) => moduleIds)
await writeFile(join(TO, 'third-party-notices.txt'), await noticesOf(modules))
// Which modules are in which file, for tests of what is loaded when.
const contents = files.map(({ fileName, moduleIds }) => [
  fileName,
  moduleIds.map((id) => relative(ROOT, id)),
])
await writeFile(join(FROM, 'chunks.json'), JSON.stringify(Object.fromEntries(contents)))
