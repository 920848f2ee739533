import { cell, GENERATED, table } from './markdown.mjs'

/** Returns the reference of all flags, from their table in the code. */
export async function flagsPage(built) {
  const { envName, namedFlags } = await built('src/base/flags/flag.js')
  const { RUN_FLAGS } = await built('src/sidecar/run-options.js')
  const groups = new Map()
  for (const flag of namedFlags(RUN_FLAGS)) {
    groups.set(flag.group, [...(groups.get(flag.group) ?? []), flag])
  }
  const sections = [...groups].map(([group, flags]) => {
    const rows = flags.map((flag) => row(flag, envName(flag.name)))
    return `## ${group.replace(/:$/, '')}\n\n${table(['Flag', 'Variable', 'Default', 'Meaning'], rows)}`
  })
  const index = [...groups.keys()].map((group) => link(group.replace(/:$/, ''))).join(' · ')
  return `${GENERATED}

# Flags of \`squall run\`

Look up a flag of the sidecar, or its environment variable. The command line takes precedence over variables. An empty variable counts as unset. In variables, set switches to \`true\` or \`false\`, and separate values of repeatable flags with commas.

Durations have the unit \`ms\`, \`s\`, \`m\`, \`h\` or \`d\`: \`300ms\`, \`1.5s\`, \`2d\`. Sizes are in bytes, or have the unit \`B\`, \`kB\`, \`MB\`, \`GB\`, \`KiB\`, \`MiB\` or \`GiB\`: \`1024\`, \`64KiB\`. With an invalid value, Squall exits with code 2 and suggests a fix.

${index}

${sections.join('\n\n')}
`
}

function link(title) {
  return `[${title}](#${title.toLowerCase().replaceAll(',', '').replaceAll(' ', '-')})`
}

function row({ name, value, default: fallback, help }, variable) {
  const form = value === undefined ? `--${name}` : `--${name} <${value}>`
  const none = value === undefined ? 'off' : '–'
  const shown = fallback === undefined ? none : `\`${fallback}\``
  return [`\`${form}\``, `\`${variable}\``, shown, cell(help)]
}
