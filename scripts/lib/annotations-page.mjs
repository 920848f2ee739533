import { cell, GENERATED, table } from './markdown.mjs'

/** Returns the reference of all annotations, from their table in the code. */
export async function annotationsPage(built) {
  const { ANNOTATIONS } = await built('packages/kubernetes/src/injector/annotations.js')
  const forPods = ANNOTATIONS.filter(({ targets }) => targets.includes('pod'))
  const forNamespaces = ANNOTATIONS.filter(({ targets }) => !targets.includes('pod'))
  return `${GENERATED}

# Annotations

Look up an annotation that configures the sidecar of a pod. All keys begin with \`squall.dev/\`; set them on the pod template, not on the Deployment. [Injection](../concepts/injection.md) describes their effect.

- **Values** are strings: write \`"3000"\` and \`"true"\`. A pod with an unknown key or an invalid value is denied, with a suggested fix.
- **Namespaces**: keys with “yes” are also allowed on a namespace, as defaults for its pods. The webhook reads these only with [\`webhook.readNamespaces\`](../concepts/webhook.md#permissions) of the chart, which is off by default. \`squall inject\` reads them from the Namespaces in its input.
- **Precedence**: the pod overrides the namespace, and the namespace overrides the settings of the injector.
- **Ceilings**: \`max-percent\`, \`max-duration\`, \`max-active\`, \`allow-faults\`, \`guard-error-rate\` and \`guard-window\` cannot be exceeded. A pod that requests more than its namespace or the settings allow is denied; the message states the ceiling.
- **Combined lists**: values of \`deny-tools\`, \`exclude-paths\` and \`rollback-on\` from all levels apply together.

${table(['Key', 'Value', 'Default', 'Namespace', 'Meaning'], forPods.map(row))}

## Only on namespaces

${table(
  ['Key', 'Kind', 'Value', 'Meaning'],
  [
    ...forNamespaces.map(({ key, form, meaning }) => [
      `\`${key}\``,
      'annotation',
      cell(form),
      cell(meaning),
    ]),
    ['`injection`', 'label', '`disabled`', 'disables injection in this namespace'],
    [
      '`environment`, without prefix',
      'label',
      'a name',
      'name of the environment; faults in `production` or `prod` require the annotation above',
    ],
  ],
)}

## Written by Squall

| Key | Written by | Value |
| --- | --- | --- |
| \`status\` | the injector | JSON: the mode and its reason, the version, the ports, and the original values for \`squall inject --undo\` |
| \`rules-touched\` | \`squall apply\`, \`stop\`, \`resume\`, experiments | time of the last ConfigMap change, which makes the kubelet update the volume at once |
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
