import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport
import WireTestSupport

@testable import NotifyBroker

/// Actions of the store and of the clock, the end of a daemon, and the completion of all work.
extension Simulation {
    // MARK: Store and time

    func storeWorks() {
        let failure: StorageFailure? = random.chance(8) ? (random.chance(50) ? .full : .broken) : nil
        guard let outcome = store.perform(failingWith: failure) else { return }
        note("store: \(describe(outcome))\(failure == nil ? "" : " failed")")
        happened.failures += failure == nil ? 0 : 1
        outcomes.append(outcome)
        model.check(store)
    }

    func report() {
        guard !outcomes.isEmpty else { return }
        let outcome = outcomes.removeFirst()
        note("told: \(describe(outcome))")
        if case .page = outcome { happened.pages += 1 }
        if case .answered(_, .found, _) = outcome { happened.searches += 1 }
        if case .committed(_, let committed) = outcome, case .success = committed.result {
            let batch = store.batches.last { $0.id == committed.batchID }
            model.reportedThrough = batch?.blocks.last?.entries.last?.sequence ?? model.reportedThrough
        }
        let before = host.lastSequence
        host.report(outcome)
        if case .redeliveries(let page) = outcome { noteLetters(of: page.subscription, after: before) }
    }

    func describe(_ outcome: FakeStore.Outcome) -> String {
        switch outcome {
        case .committed(_, let outcome):
            "commit \(outcome.batchID)\(outcome.missingCopies.isEmpty ? "" : ", missing \(outcome.missingCopies)")"
        case .deleted(let deletion): "deleted \(deletion.losses) \(deletion.released)"
        case .page(let page): "page for \(page.purpose)"
        case .redeliveries(let page): "copies for \(page.subscription)"
        case .answered(_, .found(let result), _): "found \(result)"
        case .answered(_, _, let ticket): "answered \(ticket)"
        }
    }

    func advance() {
        let milliseconds = Int.random(in: 1...1500, using: &random)
        note("advance \(milliseconds)")
        host.advance(.milliseconds(milliseconds))
    }

    func crash() {
        note("crash")
        happened.crashes += 1
        start()
    }

    /// Replaces the broker with a new one. Completed requests of the store persist, even if they were not reported.
    func start() {
        noteDeaths()
        clients = []
        outcomes = []
        host = TestHost(host.configuration, store: store, at: host.now.monotonic)
        noteRecoveredLetters()
        model.reportedThrough = store.persistedThrough
        model.check(store)
    }

    /// Stops the broker cleanly and starts it again.
    func stop() {
        note("stop")
        happened.stops += 1
        for client in clients { client.client.makeRoom() }
        let receivers = clients
        host.drain()
        for _ in 0..<1000 where !host.isDrained {
            tick()
            while let outcome = store.perform() { outcomes.append(outcome) }
            while !outcomes.isEmpty { report() }
        }
        tick()
        if !host.isDrained { model.fail("the drain does not end") }
        for client in receivers where !client.isClosing && !client.client.isClosed {
            model.fail("\(client.client.id) got no closing frame")
        }
        for client in receivers where !client.client.isClosed && !(client.unanswered.isEmpty && client.asked.isEmpty) {
            model.fail("\(client.client.id) got no answers: \(client.unanswered) \(client.asked)")
        }
        store.close(nextSequence: host.nextSequence)
        start()
    }

    // MARK: Completion

    /// Completes all work: every socket accepts its output, the store completes its requests, and every message is
    /// acknowledged. Checks that all messages were delivered.
    func settleDown() {
        note("settle down")
        for client in clients { client.client.makeRoom() }
        comeToRest()
        for wish in Self.durables where store.subscriptions.values.contains(where: { $0.name == wish.name }) {
            guard
                !clients.contains(where: {
                    $0.uid == wish.uid && $0.holds.values.contains { isHeld($0, wish.name) }
                })
            else { continue }
            var wish = wish
            if let sharing = host.durable(wish.name, uid: wish.uid)?.settings.sharing { wish.sharing = sharing }
            let client = connect(uid: wish.uid, overflow: .dropOldest, instance: instances[0])
            attach(
                client, wish, window: 0, credit: Subscribe.unlimitedCredit, from: .now, namesPatterns: false)
        }
        comeToRest()
        model.check(store)
        model.checkComplete(store)
        for client in clients {
            client.checkVolatileIsComplete(&model)
            if !client.unanswered.isEmpty || !client.asked.isEmpty {
                model.fail("\(client.client.id) got no answers: \(client.unanswered) \(client.asked)")
            }
        }
        for durable in host.durables {
            let reader = host.reader(durable.name, uid: durable.uid)
            if reader?.isLive != true {
                model.fail("'\(durable.name)' is not live: \(durable.state), \(reader as Any)")
            }
            checkLoss(of: durable)
        }
    }

    /// Checks that the broker and the log have recorded the same loss. `isUpperBound` may differ, because the log knows
    /// less about deliveries. A subscription with messages that could not be copied is left out.
    private func checkLoss(of durable: DurableSubscription) {
        let (loss, stored) = (durable.loss, store.subscriptions[durable.id]?.loss)
        guard store.deleted.missing[durable.generation] == nil else { return }
        if loss?.first != stored?.first || loss?.last != stored?.last || loss?.count != stored?.count {
            model.fail("'\(durable.name)' has lost \(loss as Any), in the log \(stored as Any)")
        }
    }

    func isHeld(_ hold: SimulatedClient.Hold, _ name: String) -> Bool {
        store.subscriptions[hold.id]?.name == name
    }

    func comeToRest() {
        for _ in 0..<5000 {
            host.advance(.milliseconds(100))
            tick()
            while let outcome = store.perform() { outcomes.append(outcome) }
            var isBusy = !outcomes.isEmpty || host.wantsTick || hasRows
            while !outcomes.isEmpty { report() }
            for client in clients {
                for (number, hold) in client.holds {
                    if let credit = hold.creditLeft, credit < 100 {
                        client.holds[number]?.creditLeft = credit + 1000
                        client.client.send(Credit(subscription: number, messages: 1000))
                        isBusy = true
                    }
                    guard let last = hold.open.max() else { continue }
                    acknowledge(client, number, [0...last])
                    isBusy = true
                }
            }
            guard isBusy, violations.isEmpty else { return }
        }
        model.fail("the work does not end")
    }

    /// Disconnects all clients, and checks that no charges remain except for durable subscriptions and stored names.
    func leave() {
        note("leave")
        model.checkFinished(store)
        for client in clients {
            for number in Array(client.holds.keys) + client.taken.keys { client.client.detach(number) }
        }
        comeToRest()
        for record in store.subscriptions.values {
            if record.progress.isAttached { model.fail("'\(record.name)' is still attached") }
            if !record.progress.acknowledged.isEmpty { model.fail("'\(record.name)' has \(record.progress)") }
            let last = store.messages.last { $0.isFor(record) }?.sequence ?? 0
            if record.progress.cursor < last { model.fail("'\(record.name)' stays at \(record.progress.cursor)") }
        }
        for client in clients { host.closed(client.client) }
        for uid in Self.users {
            for resource in Ledger.Resource.allCases {
                let amount = host.amount(of: resource, uid)
                let held = host.heldByDurables(resource, uid) ?? amount
                if amount != held { model.fail("user \(uid) is charged \(amount) instead of \(held) for \(resource)") }
            }
        }
        if host.connectionCount != 0 { model.fail("connections remain") }
        if host.volatileSubscriptionCount != 0 { model.fail("volatile subscriptions remain") }
    }
}
