/** The label of ConfigMaps, without its prefix, that requests the check of the webhook. */
export const RULES_LABEL = 'rules'

/** Value of the label where each key is for other sidecars, so that keys are checked one by one. */
export const SEPARATE_KEYS = 'separate-keys'

/** Value of the label where sidecars read all keys together. */
export const ALL_KEYS = 'true'
