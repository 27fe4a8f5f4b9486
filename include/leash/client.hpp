/* The client as an object, and how to open it. */
#ifndef LEASH_CLIENT_HPP
#define LEASH_CLIENT_HPP

#include <leash/cancel.hpp>
#include <leash/client.h>
#include <leash/error.hpp>
#include <leash/event.hpp>
#include <leash/time.hpp>

#include <chrono>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace leash {

/**
 * How to open a client: a leash_options. Each field is set by a call of its name (without `_ms`), in any order.
 *
 *     leash::client client(leash::client_options().lease(10s).uri("redis://cache"));
 *
 * A field that is not set, or a time of 0, means the default. Texts are copied. Since 0.1.
 */
class client_options {
public:
	client_options &uri(std::string_view value) { return uri_ = copy(value), *this; }
	client_options &prefix(std::string_view value) { return prefix_ = copy(value), *this; }
	client_options &client_name(std::string_view value) { return client_name_ = copy(value), *this; }

	client_options &lease(duration time) noexcept { return options_.lease_ms = time.ms(), *this; }
	client_options &timeout(duration time) noexcept { return options_.timeout_ms = time.ms(), *this; }
	client_options &fence_ttl(duration time) noexcept { return options_.fence_ttl_ms = time.ms(), *this; }

	/** For how long open() retries while the server is away; leash::forever means without limit. */
	client_options &open_wait(duration time) noexcept { return options_.open_wait_ms = time.wait_ms(), *this; }

	/** Fire it to end these retries; it must outlive open(). */
	client_options &open_cancel(const cancel &value) noexcept { return options_.open_cancel = value.get(), *this; }

	/** Events of the client, and of locks without a function of their own; see event_function for the thread. */
	client_options &on_event(event_function function)
	{
		return on_event_ = std::make_shared<event_function>(std::move(function)), *this;
	}

	/** Log lines; see log_function. */
	client_options &on_log(log_function function)
	{
		return on_log_ = std::make_shared<log_function>(std::move(function)), *this;
	}

private:
	friend class client;

	using text = std::shared_ptr<const std::string>;

	static text copy(std::string_view value) { return std::make_shared<const std::string>(value); }

	/* Valid as long as this object exists and is not changed. */
	leash_options c() const noexcept
	{
		leash_options all = options_;

		all.uri = uri_ != nullptr ? uri_->c_str() : nullptr;
		all.prefix = prefix_ != nullptr ? prefix_->c_str() : nullptr;
		all.client_name = client_name_ != nullptr ? client_name_->c_str() : nullptr;
		if (on_event_ != nullptr && *on_event_) {
			all.on_event = detail::tell_event;
			all.event_arg = on_event_.get();
		}
		if (on_log_ != nullptr && *on_log_) {
			all.on_log = detail::tell_line;
			all.log_arg = on_log_.get();
		}
		return all;
	}

	/* The text that has a NUL in it, where C would end the text, and open something else than was asked for. */
	const char *broken_text() const noexcept
	{
		const auto is_broken = [](const text &t) { return t != nullptr && t->find('\0') != std::string::npos; };

		return is_broken(uri_)           ? "the URI has a NUL byte in it"
		       : is_broken(prefix_)      ? "the prefix has a NUL byte in it"
		       : is_broken(client_name_) ? "the client_name has a NUL byte in it"
		                                 : nullptr;
	}

	leash_options options_ = detail::sized<leash_options>();
	text uri_, prefix_, client_name_; /* nullptr: the default, which an empty one is not */
	std::shared_ptr<event_function> on_event_;
	std::shared_ptr<log_function> on_log_;
};

/**
 * A leash_client: one deployment, its connections, its watchdog. One client serves all threads of a program.
 *
 * The destructor closes it, as leash_close(): what is held through it is released, all waiters are woken
 * (LEASH_CLOSED), and no callback runs any more. That takes at most about twice the `timeout`. Locks of the client may
 * outlive it; their calls then return LEASH_CLOSED.
 */
class client {
public:
	/** An open client; throws what open() returns. Since 0.1. */
	explicit client(const client_options &options = client_options()) : client(open(options).value()) {}

	/** Open one, as leash_open(); LEASH_INVALID also for a text with a NUL byte in it. Since 0.1. */
	static result<client> open(const client_options &options = client_options()) noexcept
	try {
		const leash_options all = options.c();
		leash_error why;

		if (const char *broken = options.broken_text(); broken != nullptr)
			return detail::why_not(LEASH_INVALID, broken);
		client opened(std::make_unique<inside>());
		opened.inside_->kept = {options.on_event_, options.on_log_};
		if (leash_open(&opened.inside_->client, &all, &why) != LEASH_OK)
			return why;
		return opened;
	} catch (const std::bad_alloc &) {
		return detail::why_not(LEASH_NO_MEMORY, "out of memory for a client");
	}

	/** The C handle, for calls of leash.h; this object keeps it. */
	leash_client *get() const noexcept { return inside_ != nullptr ? inside_->client : nullptr; }

private:
	friend class lock_handle;
	friend class semaphore;

	/* Callbacks are freed after the client is closed, so both are freed in one place, however a client is moved. */
	struct inside {
		inside() = default;
		inside(const inside &) = delete;
		inside &operator=(const inside &) = delete;
		~inside() { leash_close(client); }

		leash_client *client = nullptr;
		std::mutex mutex; /* guards `kept` */
		std::set<std::shared_ptr<void>> kept;
	};

	explicit client(std::unique_ptr<inside> &&all) noexcept : inside_(std::move(all)) {}

	/* Until the client is closed. */
	void keep(const std::shared_ptr<void> &callback)
	{
		if (callback == nullptr || inside_ == nullptr)
			return;
		const std::lock_guard guard(inside_->mutex);
		inside_->kept.insert(callback);
	}

	std::unique_ptr<inside> inside_;
};

} // namespace leash

#endif
