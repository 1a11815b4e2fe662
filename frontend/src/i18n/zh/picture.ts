import type { picture as english } from "../en/picture";

export const picture: typeof english = {
  save: "下载图片",
  noCanvas: "浏览器不支持 canvas。",
};
