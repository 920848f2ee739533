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

# Sidecar flags and environment variables

Look up the flags of \`squall run\`, which starts the sidecar, and the environment variables that set them.

- **Precedence**: the command line takes precedence over environment variables. An empty variable counts as unset.
- **Switches**: set the variable to \`true\` or \`false\`.
- **Repeatable flags**: in the variable, separate values with commas.
- **Durations** have the unit \`ms\`, \`s\`, \`m\`, \`h\` or \`d\`, for example \`300ms\`, \`1.5s\` or \`2d\`.
- **Sizes** are in bytes, or have the unit \`B\`, \`kB\`, \`MB\`, \`GB\`, \`KiB\`, \`MiB\` or \`GiB\`, for example \`1024\` or \`64KiB\`.
- **Invalid values**: Squall exits with code 2 and suggests a fix.

Sections: ${index}

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
