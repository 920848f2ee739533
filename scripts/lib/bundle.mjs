import { writeFile } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'
import { minifySync } from 'rolldown/utils'
import { noticesOf, packagesOf } from './notices.mjs'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** The generated check of a schema, which nobody reads: indentation would be a third of it. */
const CHECK = /\/checks\/[a-z]+\.js$/
const compactChecks = {
  name: 'compact-checks',
  renderChunk: (code, { moduleIds }) =>
    moduleIds.every((id) => CHECK.test(id))
      ? minifySync('check.js', code, { module: false, compress: false }).code
      : null,
}

/**
 * Bundles what tsc wrote to `js` in a directory into `dist` there: the program, the library, and
 * the threads that read large rules files and messages.
 */
export async function bundle(own) {
  const { output } = await build({
    input: {
      'cli/main': `${own}js/src/cli/main.js`,
      'library/index': `${own}js/src/sidecar/create-squall.js`,
      'rules/file/parse-worker': `${own}js/src/rules/file/parse-worker.js`,
      'telemetry/tape-worker': `${own}js/src/telemetry/tape-worker.js`,
    },
    cwd: own,
    platform: 'node',
    // Modules leave out what nobody uses: without them, OpenTelemetry weighs 490 kB more.
    resolve: { mainFields: ['module', 'main'] },
    // A door only passes names on: what nobody imports by it is not loaded with it.
    treeshake: {
      moduleSideEffects: [{ test: /\/src\/(?:[a-z]+\/){0,2}index\.js$/, sideEffects: false }],
    },
    // Optional, or needed by few commands.
    external: [/^@modelcontextprotocol\/(?:client|sdk)(?:\/|$)/, /^ajv/, /^undici/],
    plugins: [compactChecks],
    output: {
      // A chunk of its own for each check.
      codeSplitting: {
        groups: [{ test: CHECK, name: (id) => basename(id, '.js'), debugName: 'checks' }],
      },
      dir: `${own}dist`,
      // Holds 7 MiB less at rest than modules do on Node 24.
      format: 'cjs',
      comments: false,
      minify: false,
      entryFileNames: '[name].js',
      // In a directory of dist, as the modules are in one of src: they find files by
      // `import.meta.url`.
      chunkFileNames: 'cli/[name]-[hash].js',
    },
  })
  const chunks = output.filter((file) => file.type === 'chunk')
  await writeFile(join(own, 'dist', 'package.json'), '{ "type": "commonjs" }\n')
  const packages = await packagesOf(chunks.flatMap(({ moduleIds }) => moduleIds))
  await writeFile(join(own, 'dist', 'third-party-notices.txt'), noticesOf(packages))
  // For the bill of materials of the image.
  await writeFile(
    join(own, 'js', 'packages.json'),
    JSON.stringify(packages.map(({ name, version }) => `${name}@${version}`)),
  )
  await writeFile(join(own, 'js', 'sidecar-files.txt'), `${sidecarFiles(chunks).join('\n')}\n`)
  // Which modules are in which file, for tests of what is loaded when.
  const contents = chunks.map(({ fileName, moduleIds }) => [
    fileName,
    moduleIds.map((id) => relative(ROOT, id).replace(relative(ROOT, own), 'build')),
  ])
  await writeFile(join(own, 'js', 'chunks.json'), JSON.stringify(Object.fromEntries(contents)))
}

/** The commands of a package: pods load one of them at most, by itself. */
const PACKAGE = /\/packages\/[a-z]+\/src\/commands\/index\.js$/

/** Returns the files of `dist` that the image of the sidecar has: those that pods can load. */
function sidecarFiles(chunks) {
  const byName = new Map(chunks.map((chunk) => [chunk.fileName, chunk]))
  const found = new Set(['rules/file/parse-worker.js', 'telemetry/tape-worker.js', 'cli/main.js'])
  for (const name of found) {
    const { imports, dynamicImports } = byName.get(name)
    const later = dynamicImports.filter((each) => !PACKAGE.test(byName.get(each)?.facadeModuleId))
    for (const each of [...imports, ...later]) if (byName.has(each)) found.add(each)
  }
  return [...found, 'package.json', 'third-party-notices.txt'].sort()
}
