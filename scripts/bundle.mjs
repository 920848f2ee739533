// Makes the program of what tsc wrote to build/js: a few files instead of hundreds, so that it starts in
// less than half the time. Packages that a start needs are in them; what is loaded late stays outside.
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { noticesOf } from './lib/notices.mjs'
import { standIns } from './lib/stand-ins.mjs'
import { startChunks } from './lib/start-chunks.mjs'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const FROM = join(ROOT, 'build/js/')
const TO = join(ROOT, 'dist/')

/** The files that come of one module, with all that it needs. */
async function bundled(
  /** @type {string} */ entry,
  /** @type {object} */ output,
  /** @type {ReturnType<typeof standIns>[]} */ plugins = [],
) {
  const bundle = await rolldown({
    input: { [entry]: `${FROM}${entry}.js` },
    platform: 'node',
    // What a user may leave out, and what no start needs.
    external: [/^@modelcontextprotocol\//, /^ajv/, /^undici/],
    plugins,
  })
  try {
    const made = await bundle.generate({
      // Scripts and not modules: Node starts them sooner, and V8 can keep what it compiled of them.
      format: 'cjs',
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

/** As `src/cli/cached-scripts.ts` runs it. */
function wrapped(/** @type {string} */ code) {
  const body = code.replaceAll(/\bimport\((?=")/g, 'importModule(')
  const given = 'exports, require, module, __filename, __dirname, importModule'
  return `(function (${given}) { 'use strict'; ${body}\n})\n`
}

const chunks = { codeSplitting: { groups: startChunks(FROM) } }
const program = await bundled('cli/squall', chunks, [standIns()])
const files = [
  ...program,
  // Runs the program.
  ...(await bundled('cli/main', { codeSplitting: false })),
  // A thread of its own starts with each text that it reads, and needs nothing of the rest.
  ...(await bundled('rules/file/parse-worker', { codeSplitting: false })),
]
for (const made of files) {
  const file = join(TO, made.fileName)
  const code = asAscii(made.code)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, program.includes(made) ? wrapped(code) : code)
}
await writeFile(join(TO, 'package.json'), '{ "type": "commonjs" }\n')
const modules = files.flatMap(({ moduleIds }) => moduleIds)
await writeFile(join(TO, 'third-party-notices.txt'), await noticesOf(modules))
// Which modules are in which file, for tests of what is loaded when.
const contents = files.map(({ fileName, moduleIds }) => [
  fileName,
  moduleIds.map((id) => relative(ROOT, id)),
])
await writeFile(join(FROM, 'chunks.json'), JSON.stringify(Object.fromEntries(contents)))
