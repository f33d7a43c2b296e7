"use strict";
// without this script the table is a plain one
const table = document.querySelector("table.submissions");
const rows = [...table.tBodies[0].rows];
const heads = [...table.tHead.rows[0].cells];
const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
const worth = (row, column) => row.cells[column].dataset.order ?? row.cells[column].textContent.trim();

function sortBy(column) {
  const head = heads[column];
  const turn = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  heads.forEach((other) => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", turn > 0 ? "ascending" : "descending");
  const order = (a, b) => {
    const [left, right] = [worth(a, column), worth(b, column)];
    if (!left || !right) return !left - !right;
    const numbers = left - right;
    return turn * (Number.isNaN(numbers) ? collator.compare(left, right) : numbers);
  };
  table.tBodies[0].append(...rows.sort(order));
}

heads.forEach((head, column) => {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...head.childNodes);
  button.addEventListener("click", () => sortBy(column));
  head.append(button);
});

const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
const texts = new Map(rows.map((row) => [row, plain(row.textContent)]));
const filter = document.querySelector(".filter");
filter.hidden = false;
filter.querySelector("input").addEventListener("input", (event) => {
  const words = plain(event.target.value).split(/\s+/);
  rows.forEach((row) => { row.hidden = !words.every((word) => texts.get(row).includes(word)); });
  const left = rows.filter((row) => !row.hidden).length;
  filter.querySelector("output").textContent = `${left} of ${rows.length}`;
});
