import type { ValidateFunction } from 'ajv'

/**
 * Validators of what a rules file is checked against, by the key of the schema that each was made of.
 * The build puts a file with them in this one's place. From source there are none, and they are compiled
 * when they are first used.
 */
export const validators: ReadonlyMap<string, ValidateFunction> | undefined = undefined
