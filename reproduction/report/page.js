"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const rising = head.getAttribute("aria-sort") !== "ascending";
    const value = (row) => row.cells[column].dataset.value;
    const compare = (one, other) => {
      const difference = Number(one) - Number(other);
      return Number.isNaN(difference) ? one.localeCompare(other) : difference;
    };
    const rows = [...body.rows].sort((one, other) => (rising ? 1 : -1) * compare(value(one), value(other)));
    heads.forEach((each) => each.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", rising ? "ascending" : "descending");
    body.append(...rows);
  }));
}
const large = document.getElementById("large");
for (const zoom of document.querySelectorAll("button.zoom")) {
  zoom.addEventListener("click", () => {
    const [from, to] = [zoom.querySelector("img"), large.querySelector("img")];
    to.src = from.src;
    to.alt = from.alt;
    large.showModal();
  });
}
large.addEventListener("click", (event) => { if (event.target === large) large.close(); });
