/** How the review of a change set stands: its rules, its approvals, the last rejection, and its publication. */
import type { ChangeSet, ReviewRule } from "../api/changes.ts";
import { type OrbModel, schemaOf, titleOf } from "../model/orb.ts";
import { orbLink } from "../shell/nav.ts";
import { t, withCommas } from "../texts/t.ts";
import { Badge } from "../ui/badge.tsx";
import { Icon } from "../ui/icon.tsx";
import { Link } from "../ui/link.tsx";
import { exactTime, Time } from "../ui/time.tsx";
import { Author } from "./parts.tsx";

function Rule({ rule, orb }: { rule: ReviewRule; orb: OrbModel }) {
  const { approvals, given, by, module, schema, notAuthor } = rule;
  const isMet = given >= approvals;
  const names = by.map((role) => orb.roles?.find(({ id }) => id === role)?.name ?? role);
  const holder = orb.modules.find(({ id }) => id === module);
  const type = module === undefined || schema === undefined ? undefined : schemaOf(orb, module, schema);
  const place =
    module === undefined
      ? ""
      : type === undefined
        ? holder === undefined
          ? module
          : titleOf(holder)
        : titleOf(type);
  return (
    <li>
      <Icon name={isMet ? "circleCheck" : "clock"} />
      <span>
        {t("changes.rule", { given: Math.min(given, approvals), count: approvals, roles: withCommas(names) })}
        {place === "" ? null : <bdi>{` ${t("changes.ruleFor", { place })}`}</bdi>}
        {notAuthor ? ` ${t("changes.ruleOthers")}` : null}
      </span>
    </li>
  );
}

export function Standing({ set, orb }: { set: ChangeSet; orb: OrbModel }) {
  const { review, approvals, rejection, published, reverts, revertedBy, hash, state } = set;
  const { publishAt, refused } = set;
  const isOver = state === "PUBLISHED" || state === "REVERTED" || state === "CLOSED";
  const toSet = (id: string) => orbLink(orb.id, "changes", id);
  const isEmpty = review.length === 0 && approvals.length === 0 && rejection === null && published === null;
  if (isEmpty && reverts === undefined && publishAt === null && refused === null) return null;
  return (
    <section class="card change-standing" aria-labelledby="standing">
      <h2 id="standing">{t("changes.standing")}</h2>
      <ul>
        {isOver ? null : review.map((rule, at) => <Rule key={at} {...{ rule, orb }} />)}
        {approvals.map(({ by, at, comment, hash: approved }) => (
          <li key={by}>
            <Icon name="circleCheck" />
            <div>
              <Author orb={orb.id} by={by} /> {t("changes.approved")} · <Time at={at} />{" "}
              {approved === hash || isOver ? null : <Badge tone="warning">{t("changes.earlier")}</Badge>}
              {comment === null ? null : (
                <p class="change-words" dir="auto">
                  {comment}
                </p>
              )}
            </div>
          </li>
        ))}
        {rejection === null ? null : (
          <li class="change-rejection">
            <Icon name="circleAlert" />
            <div>
              <Author orb={orb.id} by={rejection.by} /> {t("changes.rejected")} · <Time at={rejection.at} />
              <p class="change-words" dir="auto">
                {rejection.comment}
              </p>
            </div>
          </li>
        )}
        {publishAt === null || publishAt === refused?.publishAt || isOver ? null : (
          <li>
            <Icon name="clock" />
            {t(state === "SCHEDULED" ? "changes.goesLive" : "changes.goesLiveApproved", {
              time: exactTime(publishAt),
            })}
          </li>
        )}
        {refused === null || isOver ? null : (
          <li class="change-rejection">
            <Icon name="circleAlert" />
            <div>
              {t("changes.refusedAt", { time: exactTime(refused.publishAt) })}
              <p class="change-words">{refused.detail}</p>
            </div>
          </li>
        )}
        {published === null ? null : (
          <li>
            <Icon name="send" />
            <div>
              <Author orb={orb.id} by={published.by} /> {t("changes.publishedBy")} ·{" "}
              <Time at={published.at} />
            </div>
          </li>
        )}
        {reverts === undefined ? null : (
          <li>
            <Icon name="undo" />
            <Link to={toSet(reverts)}>{t("changes.revertsOther")}</Link>
          </li>
        )}
        {revertedBy === undefined ? null : (
          <li>
            <Icon name="undo" />
            <Link to={toSet(revertedBy)}>{t("changes.revertedByOther")}</Link>
          </li>
        )}
      </ul>
    </section>
  );
}
