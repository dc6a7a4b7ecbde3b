import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { BarList } from "./BarList";

afterEach(cleanup);

// Guards I83.
it("shows what visitors sent as text, whatever they sent", () => {
  const value = '<img src=x onerror="alert(1)">';
  const onChoose = vi.fn();
  const { container } = render(
    <BarList
      rows={[{ value, name: value, label: value, count: 3 }]}
      total={3}
      chosen={[]}
      onChoose={onChoose}
    />,
  );
  expect(container.querySelector("img")).toBeNull();
  expect(screen.getByText(value)).toBeTruthy();
  fireEvent.click(screen.getByRole("button"));
  expect(onChoose).toHaveBeenCalledWith(value);
});
