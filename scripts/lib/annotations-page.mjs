import { cell, GENERATED, table } from './markdown.mjs'

/** The reference of all annotations, from their table in the code. */
export async function annotationsPage(built) {
  const { ANNOTATIONS } = await built('packages/kubernetes/src/injector/annotations.js')
  const forPods = ANNOTATIONS.filter(({ targets }) => targets.includes('pod'))
  const forNamespaces = ANNOTATIONS.filter(({ targets }) => !targets.includes('pod'))
  return `${GENERATED}

# Annotations

All of them begin with \`squall.dev/\`, and stand in the metadata of the pod template, not of the Deployment. [injection.md](../concepts/injection.md) describes their effect on a pod.

Those with a “yes” can also stand on a namespace, as defaults for its pods. What the pod says comes first, then the namespace, then the settings of the injector. Limits on rules (\`max-percent\`, \`max-duration\`, \`max-active\`, \`allow-faults\`, \`guard-error-rate\`, \`guard-window\`) are ceilings instead: a pod that asks for more than its namespace or the settings allow is denied, with the ceiling; \`deny-tools\`, \`exclude-paths\` and \`rollback-on\` add up. Values are text: write \`"3000"\` and \`"true"\`. A key that is not in this table, or a value that cannot be understood, is denied with what to write instead.

${table(['Key', 'Value', 'Without it', 'Namespace', 'Meaning'], forPods.map(row))}

## On namespaces alone

${table(
  ['Key', 'Kind', 'Value', 'Meaning'],
  [
    ...forNamespaces.map(({ key, form, meaning }) => [
      `\`${key}\``,
      'annotation',
      cell(form),
      cell(meaning),
    ]),
    ['`injection`', 'label', '`disabled`', 'nothing is injected in this namespace'],
    [
      '`environment`, without prefix',
      'label',
      'a name',
      'where this is; `production` and `prod` need the annotation above',
    ],
  ],
)}

## Written by Squall

| Key | By | Holds |
| --- | --- | --- |
| \`status\` | the injector | JSON: the mode, why that mode, the version, the ports, and what \`squall uninject\` puts back |
| \`rules-touched\` | \`squall apply\` | when the rules were last applied, so that kubelet looks at once |
`
}

function row({ key, form, fallback, targets, meaning }) {
  const isDefault = targets.includes('namespace') ? 'yes' : '–'
  return [
    `\`${key}\``,
    cell(form),
    fallback === '' ? '–' : cell(fallback),
    isDefault,
    cell(meaning),
  ]
}
