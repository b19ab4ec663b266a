//! Databases in files: reopening, damage, followers.

mod common;
mod damage;
mod followers;
mod group;
mod reopening;
