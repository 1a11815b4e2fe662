/** What the columns of SQL's tables mean: `TABLES` of the API has it in English. */
export const meanings = { of: (english: string) => english };
